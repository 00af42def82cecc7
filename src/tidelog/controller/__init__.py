"""The active controller: requests in, metadata records and an answer out.

A replicated machine. `controller.Controller` routes; one file a subject has its rules. All durable state is one
`MetadataDraft` (and `indexes`, which follow from it), and only `replay` writes it: a request that fails has changed
nothing, and whoever replays the same records has the same cluster.
"""
