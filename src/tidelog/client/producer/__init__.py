"""Writing: batches gathered a partition, sent to leaders, and sent again until written; transactions."""
