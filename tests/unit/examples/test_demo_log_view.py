"""The view of the demo of the broker alone, also where the machine is too busy."""

import pytest
from examples.demo_log_view import _percentiles


@pytest.mark.parametrize(
    ("latencies", "shown"),
    [([], "-"), ([0.24], "0.2   0.2"), ([99.94, 99.94], "99.9  99.9"), ([1026.64, 12345.6], "12346 12346")],
)
def test_percentiles_need_no_more_room_than_there_is(latencies: list[float], shown: str) -> None:
    assert _percentiles(latencies) == shown
    assert len(shown) <= 11
