"""Facts about Spark's own processes: which one this is (`process`), the socket that feeds a worker (`worker_socket`),
and the batch that a `foreachBatch` function runs for (`batches`). Nothing here knows Kafka.
"""
