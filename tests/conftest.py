"""Fixtures and hooks for every test: the process is left as it was found, and the tests run in a useful order.

Order: tests that mostly wait (for a broker, for a JVM) begin first, and those that only compute come last. While some
wait, others compute, and at the end there are only short ones left to share out.

Signals: a shell that starts a program in the background has it ignore SIGINT, and everything that it starts inherits
that. A child that is sent SIGINT by a test would then run for ever.

Hypothesis: no example fails for taking long, since a busy machine would make any of them do so.
"""

import gc
import logging
import os
import signal
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support.order import dealt_out

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


TESTS = Path(__file__).parent
# Tests that need Apache's jars come last of these: on a new machine the jars are fetched while the others wait.
WAITING = ("spark", "broker", "interop")


def pytest_configure() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests with the garbage collector off, since collecting tens of thousands of tests makes no garbage. What
    was collected stays to the end, so it is frozen: no later collection need look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # after pytest-randomly
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    modules = [list(of_one) for _, of_one in groupby(items, key=lambda item: item.path)]
    modules.sort(key=lambda of_one: _rank(of_one[0]))
    items[:] = dealt_out(modules, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def _rank(item: pytest.Item) -> int:
    if item.get_closest_marker("early") is not None:
        return -1
    directory = item.path.relative_to(TESTS).parts[0]
    return WAITING.index(directory) if directory in WAITING else len(WAITING)


@pytest.fixture(autouse=True)
def _the_log_as_it_was() -> Iterator[None]:
    """Restore the logger after each test: a command that sets up logging writes to streams that end with its test, and
    keeps lines from pytest's own handlers."""
    logger = logging.getLogger("tidelog")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])  # not by assignment: child loggers cache their level, and setLevel clears the caches
