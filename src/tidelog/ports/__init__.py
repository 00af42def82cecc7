"""What a node needs of the world: time, chance, files and connections, each as a small protocol.

`io` implements them on a machine, `sim` under a seed. Nothing from here down knows which of the two it runs on, so what
the simulator proves is the code that production runs.
"""
