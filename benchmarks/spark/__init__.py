"""Our Spark source, sink and lake writer beside Spark's own Kafka connector."""


def main() -> int:
    """Imported when it runs: the parts can be run by themselves (see comparison)."""
    from benchmarks.spark import comparison

    return comparison.main()


__all__ = ["main"]
