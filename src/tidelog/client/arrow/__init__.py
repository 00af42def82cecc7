"""Arrow tables to records and back. Needs pyarrow, which is an extra (`extra` says so)."""
