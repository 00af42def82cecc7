"""Our node beside Apache Kafka, in one run, by turns, under the same load: see `comparison`."""

from benchmarks.broker.comparison import main

__all__ = ["main"]
