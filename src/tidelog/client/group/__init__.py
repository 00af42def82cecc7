"""A consumer that shares partitions with others of its group (KIP-848)."""
