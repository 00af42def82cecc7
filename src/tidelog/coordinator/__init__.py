"""The coordinators: groups, transactions and share partitions, each a replicated machine over an internal topic."""
