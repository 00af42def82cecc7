"""The state of producers in one partition, and its snapshots."""
