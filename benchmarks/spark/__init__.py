"""Our Spark source, sink and lake writer beside Spark's own Kafka connector."""


def main() -> int:
    """Run the comparison, which is imported only now: its parts can be run by themselves."""
    from benchmarks.spark import comparison

    return comparison.main()


__all__ = ["main"]
