"""The node: the one place where all parts meet, and its life from start to stop."""
