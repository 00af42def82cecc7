"""The node: what a turn does with requests, logs and machines. Pure, like everything below it: time is an argument, and
the world is behind the ports.
"""
