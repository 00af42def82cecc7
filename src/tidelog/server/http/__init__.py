"""The listener for metrics and health."""
