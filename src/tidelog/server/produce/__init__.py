"""Produce requests: the quick path, the ordinary one, batches that workers prepare, and requests that wait."""
