"""The driver over a log in memory: order, held answers, dropping, long work, bugs."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

import pytest
from tests.sim.metadata_node import Answer, Settings, set_value

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.server.replicated import AppendRefused, Replicated

NEVER: Callable[[], bool] = lambda: False  # noqa: E731
ALWAYS: Callable[[], bool] = lambda: True  # noqa: E731


class MemoryLog:
    """A log that counts its calls; the test commits and advances the high watermark."""

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.staged: list[Any] = []
        self.writes = 0
        self.fails = False
        self.high_watermark = 0

    @property
    def end_offset(self) -> int:
        return len(self.records) + len(self.staged)

    def append_steps(self, records: Sequence[Any], wall_ms: int, *, is_atomic: bool) -> Generator[None, None, None]:
        if is_atomic and len(records) > 3:
            raise AppendRefused("too many")
        for _ in range(len(records) // 2):
            yield
        self.staged += records

    def commit(self, now_ms: int, wall_ms: int) -> bool:
        self.writes += bool(self.staged)
        staged, self.staged = self.staged, []
        if not self.fails:
            self.records += staged
        return not self.fails


class Driver:
    def __init__(self, activation: Answer | None = None) -> None:
        self.log = MemoryLog()
        self.bugs: list[Exception] = []
        self.replicated: Replicated[Settings] = Replicated(
            self.log,
            ErrorCode.NOT_COORDINATOR,
            lambda _request, bug: self.bugs.append(bug),
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )
        self.machine = Settings()
        self.activation = activation

    def start(self, *batches: list[Any]) -> "Driver":
        activation = self.activation
        self.replicated.start(self.machine, iter(batches), (lambda _now: activation) if activation else None)
        return self

    def active(self) -> "Driver":
        self.start()
        self.turn()
        return self

    def submit(self, request: Any, now_ms: int = 0) -> list[Any]:
        answers: list[Any] = []
        self.replicated.submit(now_ms, request, answers.append)
        return answers

    def turn(self, is_over: Callable[[], bool] = NEVER) -> None:
        self.replicated.turn(5, 6, is_over)

    def advance(self, high_watermark: int) -> None:
        self.log.high_watermark = high_watermark
        self.replicated.answer()


def test_answers_wait_for_the_high_watermark_in_order() -> None:
    driver = Driver().active()
    first, second = driver.submit(("a", "1")), driver.submit(("b", "2"))
    assert driver.log.staged == [], "nothing happens before the turn"
    driver.turn()
    assert (first, second, driver.log.writes) == ([], [], 1)
    driver.advance(1)
    assert (first, second) == (["a is set"], [])
    driver.advance(2)
    assert second == ["b is set"]


def test_the_next_request_sees_what_the_last_decided_but_tells_nobody_before_it_is_committed() -> None:
    driver = Driver().active()
    driver.submit(("a", "1"))
    read = driver.submit("all")
    driver.turn()
    assert read == []
    driver.advance(1)
    assert read == [{"a": "1"}]


def test_a_read_of_committed_state_is_answered_in_the_same_turn() -> None:
    driver = Driver().active()
    read = driver.submit("all")
    driver.turn()
    assert read == [{}]


def test_a_refusal_waits_like_an_answer() -> None:
    """A refusal may follow from a record that is not committed yet."""
    driver = Driver().active()
    driver.submit(("a", "1"))
    refused = driver.submit("bad")
    driver.turn()
    assert refused == []
    driver.advance(1)
    (error,) = refused
    assert isinstance(error, ApiError)
    assert error.code is ErrorCode.INVALID_CONFIG


def test_a_bug_costs_its_request_and_no_other() -> None:
    driver = Driver().active()
    answers = [driver.submit(("a", "1")), driver.submit("bug"), driver.submit(("b", "2"))]
    driver.turn()
    driver.advance(2)
    assert answers == [["a is set"], [ErrorCode.UNKNOWN_SERVER_ERROR], ["b is set"]]
    assert [type(bug) for bug in driver.bugs] == [ZeroDivisionError]


def test_records_that_the_log_refuses_cost_their_request_and_change_nothing() -> None:
    driver = Driver().active()
    refused = driver.submit(Answer([set_value("x", str(each)) for each in range(4)], "no"))
    split = driver.submit(Answer([set_value("y", str(each)) for each in range(4)], "yes", is_atomic=False))
    driver.turn()
    driver.advance(4)
    assert (refused, split) == ([ErrorCode.UNKNOWN_SERVER_ERROR], ["yes"])
    assert driver.machine.values == {"y": "3"}


def test_a_failed_write_drops_the_machine_and_all_who_wait() -> None:
    driver = Driver().active()
    committed, written = driver.submit(("a", "1")), driver.submit(("b", "2"))
    driver.turn()
    driver.log.fails = True
    failed = driver.submit(("c", "3"))
    driver.log.high_watermark = 1
    driver.turn()
    assert driver.replicated.is_idle
    assert committed == ["a is set"], "what is committed is answered as it is"
    assert (written, failed) == ([ErrorCode.NOT_COORDINATOR], [ErrorCode.NOT_COORDINATOR])
    assert driver.submit("all") == [ErrorCode.NOT_COORDINATOR]


def test_dropping_ends_long_work_and_what_was_not_begun() -> None:
    driver = Driver().active()
    answers = [driver.submit("slow"), driver.submit("all")]
    driver.turn(ALWAYS)
    assert answers == [[], []]
    driver.replicated.drop()
    assert answers == [[ErrorCode.NOT_COORDINATOR]] * 2
    assert (driver.replicated.has_work, driver.replicated.deadline) == (False, None)


def test_long_work_gives_the_turn_back_and_nobody_comes_between() -> None:
    driver = Driver().active()
    slow, quick = driver.submit("slow"), driver.submit(("a", "1"))
    turns = 0
    while driver.replicated.has_work:
        driver.turn(ALWAYS)
        turns += 1
    assert turns == 7  # five steps and the end of the slow one; and the quick one
    driver.advance(2)
    assert (slow, quick) == (["slow is set"], ["a is set"])


def test_a_request_is_handled_as_of_its_arrival() -> None:
    driver = Driver().active()
    driver.submit(("a", "1"), now_ms=3)
    driver.turn()
    assert driver.machine.handled_ms == [3]


def test_the_machine_is_stepped_when_its_time_has_come() -> None:
    driver = Driver().active()
    driver.machine.deadline = 6
    assert driver.replicated.deadline == 6
    driver.turn()
    assert driver.machine.values == {}
    driver.machine.deadline = 5
    driver.turn()
    assert driver.machine.values == {"stepped": "5"}


def test_loading_replays_in_slices_then_activates() -> None:
    driver = Driver(Answer([set_value("active", "1")], None))
    driver.start([set_value("a", "1")[0]], [set_value("a", "2")[0], set_value("b", "3")[0]])
    assert driver.submit("all") == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    driver.turn(ALWAYS)
    assert (driver.machine.values, driver.replicated.is_active) == ({"a": "1"}, False)
    driver.turn()
    assert driver.replicated.is_active
    assert driver.machine.values == {"a": "2", "b": "3", "active": "1"}
    assert driver.log.records == [set_value("active", "1")]


def test_a_replay_that_fails_is_not_passed_over() -> None:
    driver = Driver().active()
    driver.submit(Answer([(object(), 0)], None))
    with pytest.raises(Exception, match="no record of the metadata log"):
        driver.turn()


def test_validate_state_compares_with_a_fresh_replay() -> None:
    driver = Driver().active()
    driver.submit(("a", "1"))
    driver.turn()
    driver.advance(1)
    log = [[message for message, _ in driver.log.records]]
    driver.replicated.validate_state(Settings(), iter(log), lambda machine: machine.values)
    driver.machine.replay(set_value("b", "behind the log's back")[0])
    with pytest.raises(AssertionError, match="not what the log says"):
        driver.replicated.validate_state(Settings(), iter(log), lambda machine: machine.values)


# Activation


def held_at_its_start() -> Driver:
    driver = Driver(Answer([set_value("a", "1")], None, effects=["an effect"]))
    driver.replicated.hold_steps_until_ms = 1_000
    driver.start([])
    driver.turn()
    return driver


def test_what_it_begins_with_waits_while_the_log_takes_nothing_and_reading_goes_on() -> None:
    driver = held_at_its_start()
    assert driver.replicated.is_active
    assert (driver.log.writes, driver.log.staged, driver.machine.values) == (0, [], {})
    assert (driver.replicated.deadline, driver.replicated.has_work) == (1_000, False), "it does not spin"
    assert not driver.replicated.is_free, "nobody decides anything before it"
    read = driver.submit("all")
    driver.turn()
    assert (read, driver.log.writes) == ([{}], 0)


@pytest.mark.parametrize("is_over", [True, False])
def test_what_it_begins_with_goes_before_any_request_once_the_log_takes_it(is_over: bool) -> None:
    driver = held_at_its_start()
    driver.replicated.hold_steps_until_ms = 5 if is_over else None
    read = driver.submit("all")
    driver.turn()
    driver.advance(1)
    assert (read, driver.log.writes) == ([{"a": "1"}], 1)
    assert driver.replicated.is_free
    assert driver.replicated.deadline is None


def test_a_beginning_that_writes_nothing_waits_for_nothing() -> None:
    driver = Driver(Answer([], None))
    driver.replicated.hold_steps_until_ms = 1_000
    driver.start([])
    driver.turn()
    assert driver.replicated.is_free


def test_a_beginning_that_waits_is_dropped_with_its_machine() -> None:
    driver = held_at_its_start()
    driver.replicated.drop()
    assert (driver.replicated.is_idle, driver.replicated.deadline) == (True, None)
    driver.activation = None
    driver.machine = Settings()
    driver.replicated.hold_steps_until_ms = None
    driver.start([])
    driver.turn()
    assert (driver.log.writes, driver.machine.values) == (0, {})
