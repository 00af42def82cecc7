"""Reading topics: options (`options`, `catalogue`), the offsets and tasks of a read (`batch_plan`, `stream_plan`), what
a task fetches (`fetch_task`, `reading`, `record_batches`), and Spark's thin readers around it (`batch_reader`,
`stream_reader`). `data_source` is what Spark finds by the name `tidelog`.
"""
