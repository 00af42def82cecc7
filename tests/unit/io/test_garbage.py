"""When the collector runs, and what it leaves alone."""

import gc
from collections.abc import Iterator

import pytest

from tidelog.io.garbage import FULL_AFTER, Garbage


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
    assert gc.get_threshold()[2] > 1_000_000


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
