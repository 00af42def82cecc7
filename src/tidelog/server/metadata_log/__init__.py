"""`__cluster_metadata-0`: the log, its snapshots, the quorum that commits it, the controller that writes it while this
node leads, and the image that every node makes of it.
"""
