"""A cleaner's worker that reports nothing any more is killed, and its partition is not cleaned again; and the cases in
which it is not."""

from collections.abc import Callable

from tests.sim.broker import T0
from tests.sim.cleaned_broker import CLEANER, COMPACTED, CleanedBroker, names

from tidelog.model.ids import TopicPartition
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.cleaner.task import SILENCE_MS_MAX, SILENCE_MS_MAX_CALLED_OFF

T1 = TopicPartition("t", 1)
SECOND = 1_000
HOUR = 3_600 * SECOND


def cleaning_broker() -> CleanedBroker:
    """Return a broker with two dirty logs, the worker of the first of which has begun to write."""
    clock = SimClock()
    node = CleanedBroker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=COMPACTED, cleaner=CLEANER)
    node.start()
    node.fill(T0)
    node.fill(T1, batches=4)
    turns_until(node, lambda: bool(names(node, ".cleaned", T0) + names(node, ".cleaned", T1)))
    return node


def turns_until(node: CleanedBroker, is_so: Callable[[], bool]) -> None:
    for _ in range(200):
        if is_so():
            return
        node.turn()
    raise AssertionError("it never came to that")


def loop(node: CleanedBroker, duration_ms: int, step_ms: int = SECOND) -> None:
    """Run turns of the loop, while the workers do nothing."""
    for _ in range(duration_ms // step_ms):
        node.clock.advance(step_ms)
        node.cleaner.tick(node.now)


def test_one_that_hangs_is_killed_and_its_partition_set_aside() -> None:
    node = cleaning_broker()
    (victim,) = node.cleaner.in_progress
    loop(node, SILENCE_MS_MAX - 10 * SECOND)
    assert node.cleaner.in_progress == [victim]
    loop(node, 20 * SECOND)
    assert list(node.cleaner.uncleanable) == [victim]
    assert node.cleaner.uncleanable[victim].reason == "its worker said nothing for 10 minutes and was killed"
    assert node.cleaner.take_problems() == [
        f"{victim} in /disk/logs: its worker said nothing for 10 minutes and was killed"
    ]
    assert not node.cleaner.take_problems(), "it is said once"
    assert node.cleaner.counts.dead_workers == 1
    node.clean()
    assert not names(node, ".cleaned", victim)
    assert node.cleaner.counts.cleanings == 1, "of the other log"


def test_one_that_goes_on_may_take_as_long_as_it_likes() -> None:
    node = cleaning_broker()
    while node.cleaner.is_busy:
        loop(node, SILENCE_MS_MAX // 2, 5 * SECOND)
        node.turn()
    assert not node.cleaner.uncleanable
    assert node.cleaner.counts.cleanings


def test_a_machine_that_slept_is_no_reason_to_kill() -> None:
    node = cleaning_broker()
    for _ in range(10):
        loop(node, HOUR, HOUR)
    assert node.cleaner.in_progress
    node.clean()
    assert not node.cleaner.uncleanable


def test_a_stop_does_not_wait_for_one_that_hangs() -> None:
    node = cleaning_broker()
    node.cleaner.call_off_all()
    loop(node, SILENCE_MS_MAX_CALLED_OFF - 2 * SECOND)
    assert is_looked_after(node), "it may be on its way out"
    loop(node, 4 * SECOND)
    assert not node.cleaner.is_busy
    assert not node.cleaner.uncleanable
    assert not names(node, ".cleaned")


def test_somebody_looks_while_a_worker_is_busy() -> None:
    node = cleaning_broker()
    assert is_looked_after(node)
    node.cleaner.call_off_all()
    node.cleaner.tick(node.now)
    assert is_looked_after(node), "nor does a stop forget it"


def is_looked_after(node: CleanedBroker) -> bool:
    deadline_ms = node.cleaner.deadline_ms
    return deadline_ms is not None and deadline_ms - node.now <= 5 * SECOND
