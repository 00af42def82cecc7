"""A handler that can not be imported for want of descriptors: the client is sent away, and it is not logged as a
bug."""

import errno
import logging
import os
from collections.abc import Iterator, Mapping

import pytest
from tests.support.raw_connection import Raw, raw_request

from tidelog.server.requests.handler import Handler
from tidelog.sim.node_world import NodeWorld


class Refusing(Mapping[int, Handler]):
    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getitem__(self, api_key: int) -> Handler:
        raise self._error

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("error", "is_bug"),
    [
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), False),
        (ImportError(f"x.so: cannot open shared object file: {os.strerror(errno.ENFILE)}"), False),
        (ImportError("cannot import name 'x' from 'y'"), True),
    ],
)
def test_a_shortage_is_one_plain_line_and_passes(
    caplog: pytest.LogCaptureFixture, error: Exception, is_bug: bool
) -> None:
    world = NodeWorld(seed=17)
    dispatch = world.running.broker.dispatch
    handlers, dispatch.handlers = dispatch.handlers, Refusing(error)
    raw = Raw(world)
    caplog.clear()  # drop the lines of the start
    with caplog.at_level(logging.WARNING):
        raw.send(raw_request(18, 0))
        world.run(50)
    assert raw.is_closed
    assert dispatch.bugs == int(is_bug)
    (line,) = caplog.records
    assert (line.exc_info is not None) == is_bug
    assert ("Raise ulimit -n" in line.getMessage()) != is_bug
    dispatch.handlers = handlers
    again = Raw(world)
    again.send(raw_request(18, 0))
    assert again.frame()
