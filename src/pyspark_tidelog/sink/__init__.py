"""Writing topics exactly once. `two_phase` is the protocol and is pure; `ledger` and `transactions` carry it out in a
cluster; `write_task` is what a task does, `commit` what the driver does; Spark calls the sink through `batch_writer`,
`stream_writer`, `foreach` and `updates`.
"""
