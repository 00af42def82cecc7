"""Reading topics: options (`options`, `catalogue`), what a read comes to (`batch_plan`, `stream_plan`), what a task
fetches (`fetch_task`, `reading`, `record_batches`), and Spark's thin readers around it (`batch_reader`,
`stream_reader`). `data_source` is what Spark finds by the name `tidelog`.
"""
