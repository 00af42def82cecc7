"""Writing topics exactly once. `two_phase` is the protocol and is pure; `ledger` and `transactions` are its world;
`write_task` is what a task does, `commit` what the driver does; `batch_writer`, `stream_writer`, `foreach` and
`updates` are the ways by which Spark comes in.
"""
