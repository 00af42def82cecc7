"""What source and sink know of a Kafka cluster: `kafka.*` options as settings of our client (`settings`, `catalogue`),
the partitions and offsets of a cluster as the driver sees them (`cluster`, `offsets`), and how long a job waits for
brokers that are away (`retries`, `first_contact`).
"""
