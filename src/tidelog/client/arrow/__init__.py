"""Arrow tables at the client: to a topic (`produce`), and a fetched range as columns (`fetched_columns`).

- `produce`: a table's rows to partitions and batches, `columns`: a batch's buffers for the encoding kernel.
- `fetched_columns`: the chunks of `fetch.fetch_ahead` as columns, for Spark's source. It imports no pyarrow itself.
- `extra`: pyarrow is an extra (`tidelog[arrow]`); whoever lacks it is told so here.

Only this room imports pyarrow, and only inside functions: a client without tables must not pay for it.
"""
