"""The times at which the garbage collector runs, and the objects that it leaves alone."""

import gc
from collections.abc import Iterator

import pytest

from tidelog.cli.main import main
from tidelog.io.garbage import FULL_AFTER, MIDDLE, NEVER, STARTING, YOUNG, Garbage


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Cycle:
    def __init__(self) -> None:
        self.self = self


def test_what_is_there_after_the_start_is_frozen_and_full_collections_stop() -> None:
    Garbage().settle()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == (YOUNG, MIDDLE, NEVER)


@pytest.mark.parametrize("command", [["start", "/nowhere"], ["dev", "--dir", "/proc/nowhere"]])
def test_a_node_that_starts_hardly_collects(command: list[str]) -> None:
    assert main(command) > 0
    assert gc.get_threshold() == (STARTING, MIDDLE, NEVER)


def test_a_collection_within_a_turn_looks_at_few_objects_however_many_are_kept() -> None:
    Garbage().settle()
    looked_at: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            looked_at.append(sum(len(gc.get_objects(each)) for each in range(info["generation"] + 1)))

    gc.callbacks.append(note)
    try:
        kept = [[index] for index in range(200_000)]
    finally:
        gc.callbacks.remove(note)
    assert len(kept) == 200_000
    assert max(looked_at) < 30_000


def test_a_full_collection_waits_for_an_idle_loop_and_then_takes_cycles_away(monkeypatch: pytest.MonkeyPatch) -> None:
    garbage = Garbage()
    garbage.settle()
    Cycle()
    garbage.idle()
    assert any(isinstance(each, Cycle) for each in gc.get_objects())
    monkeypatch.setattr(gc, "get_count", lambda: (0, 0, FULL_AFTER))
    garbage.idle()
    assert not any(isinstance(each, Cycle) for each in gc.get_objects())
    assert garbage.longest_full_ms > 0
