"""The arithmetic of the I/O limit."""

import pytest

from tidelog.storage.cleaner.throttle import WINDOW_MS, Throttle


def test_the_pace_is_kept() -> None:
    throttle, now, moved = Throttle(1000, 0), 0, 0
    for _ in range(50):
        now += 10
        now += throttle.pause_ms(now, 200)
        moved += 200
    assert 1000 * moved / now == pytest.approx(1000, rel=0.05)


def test_below_the_pace_there_is_no_pause() -> None:
    throttle = Throttle(1000, 0)
    assert [throttle.pause_ms(now, 90) for now in range(100, 2000, 100)] == [0] * 19


def test_idle_time_is_not_caught_up_with() -> None:
    throttle = Throttle(1000, 0)
    assert throttle.pause_ms(3_600_000, 2000) == 2000 - WINDOW_MS


def test_without_a_limit() -> None:
    assert Throttle(1.7976931348623157e308, 0).pause_ms(0, 10**12) == 0


def test_no_pace_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="never finish"):
        Throttle(0, 0)
