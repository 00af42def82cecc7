from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.cli.output.latencies import BAR_WIDTH, histogram, histogram_lines, percentile, summary

latencies = st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=50)


def test_percentiles_are_values_that_were_measured() -> None:
    assert summary([float(each) for each in range(1, 1001)]) == {
        "p50": 500.0, "p90": 900.0, "p99": 990.0, "p99.9": 999.0, "max": 1000.0,
    }  # fmt: skip
    assert summary([3.0]) == {"p50": 3.0, "p90": 3.0, "p99": 3.0, "p99.9": 3.0, "max": 3.0}
    assert summary([]) == {}


@given(latencies, st.floats(0.01, 1))
@settings(max_examples=50, derandomize=True)
def test_so_large_a_share_is_not_above_a_percentile(found: list[float], share: float) -> None:
    value = percentile(sorted(found), share)
    assert sum(each <= value for each in found) >= share * len(found)


@given(latencies)
@settings(max_examples=50, derandomize=True)
def test_a_histogram_counts_everything_once(found: list[float]) -> None:
    buckets = histogram(found)
    assert sum(each.records for each in buckets) == len(found)
    assert buckets[-1].high_ms == pytest.approx(max(*found, 1e-3))
    for below, above in pairwise(buckets):
        assert below.high_ms == pytest.approx(above.low_ms)


def test_bars() -> None:
    lines = histogram_lines([1.0] * 100 + [16.0])
    assert lines[0].count("█") == BAR_WIDTH
    assert lines[-1].count("█") == 1
    assert [line.count("█") for line in lines[1:-1]] == [0] * (len(lines) - 2)
    assert histogram_lines([]) == []
