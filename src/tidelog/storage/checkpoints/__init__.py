"""The small files of log directories and partitions: checkpoints, `meta.properties`, `partition.metadata`."""
