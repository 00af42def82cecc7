"""Latencies: percentiles, and a histogram that fits a terminal. Buckets grow by a constant factor, because the
interesting part of a latency is its tail."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

PERCENTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
BUCKETS: Final = 16
BAR_WIDTH: Final = 40


class Bucket(NamedTuple):
    low_ms: float
    high_ms: float
    records: int


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summary(latencies_ms: Sequence[float]) -> dict[str, float]:
    ordered = sorted(latencies_ms)
    if not ordered:
        return {}
    found = {name: percentile(ordered, share) for name, share in PERCENTILES.items()}
    return {name: round(value, 3) for name, value in {**found, "max": ordered[-1]}.items()}


def histogram(latencies_ms: Sequence[float], buckets: int = BUCKETS) -> list[Bucket]:
    """Return buckets from the least to the largest latency, each wider than the last by the same factor."""
    if not latencies_ms:
        return []
    low, high = max(min(latencies_ms), 1e-3), max(*latencies_ms, 1e-3)
    factor = (high / low) ** (1 / buckets)
    if factor == 1:
        return [Bucket(low, high, len(latencies_ms))]
    counts = [0] * buckets
    for latency in latencies_ms:
        index = int(math.log(max(latency, low) / low) / math.log(factor))
        counts[min(buckets - 1, index)] += 1
    return [Bucket(low * factor**index, low * factor ** (index + 1), count) for index, count in enumerate(counts)]


def histogram_lines(latencies_ms: Sequence[float]) -> list[str]:
    buckets = histogram(latencies_ms)
    most = max((each.records for each in buckets), default=1)
    return [
        f"{each.low_ms:9.3f} - {each.high_ms:9.3f} ms  {'█' * _bar(each.records, most):<{BAR_WIDTH}}  {each.records}"
        for each in buckets
    ]


def _bar(count: int, most: int) -> int:
    """Return the length of a bar, rounded up so that a single record can be seen."""
    return math.ceil(count / most * BAR_WIDTH)
