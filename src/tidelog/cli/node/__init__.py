"""The commands that make and run a node: `dev`, `format`, `start`, `random-uuid`."""
