"""The share coordinator, which remembers what share groups were given."""
