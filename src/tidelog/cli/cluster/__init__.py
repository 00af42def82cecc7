"""`tidelog cluster` and `tidelog configs`, and how any command reaches a cluster (`connecting`) and is ended
(`termination`).
"""
