import pytest

from tidelog.sim.clock import START_WALL_MS, SimClock, SkewedClock


def test_time_stands_still_until_advanced() -> None:
    clock = SimClock()
    assert (clock.wall_ms(), clock.monotonic_ms()) == (START_WALL_MS, 0)
    clock.advance(5)
    assert (clock.wall_ms(), clock.monotonic_ms()) == (START_WALL_MS + 5, 5)
    clock.advance_to(12)
    assert clock.monotonic_ms() == 12


def test_time_does_not_go_back() -> None:
    clock = SimClock()
    clock.advance(10)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance_to(9)
    assert clock.monotonic_ms() == 10


def test_a_jump_moves_only_the_wall_clock() -> None:
    clock = SimClock()
    clock.advance(10)
    clock.jump_wall(-3_600_000)
    assert (clock.wall_ms(), clock.monotonic_ms()) == (START_WALL_MS + 10 - 3_600_000, 10)


def test_a_drift_changes_the_rate_without_a_jump() -> None:
    clock = SimClock(drift_ppm=500)
    clock.advance(1_000_000)
    assert clock.wall_ms() == START_WALL_MS + 1_000_500
    clock.drift(-500)
    assert clock.wall_ms() == START_WALL_MS + 1_000_500
    clock.advance(1_000_000)
    assert clock.wall_ms() == START_WALL_MS + 2_000_000
    assert clock.monotonic_ms() == 2_000_000


def test_a_skewed_clock_follows_the_shared_one() -> None:
    clock = SimClock()
    skewed = SkewedClock(clock, -250)
    clock.advance(1_000)
    assert (skewed.wall_ms(), skewed.monotonic_ms()) == (START_WALL_MS + 750, 1_000)
