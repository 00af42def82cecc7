"""minOffsetsPerTrigger and maxTriggerDelay."""

from pyspark_tidelog.source.trigger_delay import TriggerDelay


def test_without_a_minimum_nothing_waits() -> None:
    delay = TriggerDelay(None, 1_000, lambda: 0)
    assert [delay.holds_back(waiting) for waiting in (1, 1, 1)] == [False] * 3


def test_enough_is_let_through_and_the_delay_begins_anew() -> None:
    now_ms = [0]
    delay = TriggerDelay(10, 1_000, lambda: now_ms[0])
    assert not delay.holds_back(1), "the first of a run"
    assert delay.holds_back(9)
    now_ms[0] = 900
    assert not delay.holds_back(10)
    now_ms[0] = 1_800
    assert delay.holds_back(9)
    now_ms[0] = 1_900
    assert not delay.holds_back(9)


def test_nothing_at_all_does_not_use_up_the_delay() -> None:
    now_ms = [0]
    delay = TriggerDelay(10, 1_000, lambda: now_ms[0])
    delay.holds_back(10)
    now_ms[0] = 1_000
    assert not delay.holds_back(0)
    assert not delay.holds_back(1), "it has waited long enough"
