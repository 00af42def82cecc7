"""A plugin for other people's test suites, run in a process of their own: no phase of a test may take longer than this.

A client that waits for ever in one of them, whoever is to blame, fails that test, which may be tried again.
kafka-python 3.0.12 does so now and then: a consumer whose metadata arrive while it subscribes never asks for its topic.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

LIMIT_S = 45


@contextmanager
def _limited() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TimeoutError(f"still at it after {LIMIT_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LIMIT_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    with _limited():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    with _limited():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    with _limited():
        return (yield)
