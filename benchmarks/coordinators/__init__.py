"""Our coordinators beside Apache Kafka's, in one run, by turns, under the same load: see `comparison`."""

from benchmarks.coordinators.comparison import main

__all__ = ["main"]
