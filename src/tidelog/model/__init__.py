"""Kafka's nouns: ids, error codes, what a topic partition is. No behaviour, no dependencies."""
