"""What source and sink know of a Kafka cluster: `kafka.*` options as settings of our client (`settings`, `catalogue`),
the partitions and offsets of a cluster as the driver sees them (`cluster`, `offsets`), and patience with brokers
that are away (`retries`, `first_contact`). No module here imports Spark, the source or the sink.
"""
