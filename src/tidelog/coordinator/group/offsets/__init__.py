"""Committed offsets of every kind of group: commits, reads, expiry, and those staged in transactions."""
