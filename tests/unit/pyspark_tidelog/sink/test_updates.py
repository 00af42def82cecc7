"""What `start_updates` refuses of a writer of Spark Connect, before anything is started."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_tidelog.errors import OptionError, SinkError
from pyspark_tidelog.sink import updates
from pyspark_tidelog.sink.updates import start_updates

OPTIONS = {"kafka.bootstrap.servers": "localhost:1", "topic": "t"}


class RemoteWriter:
    """As much of one as is asked before the start."""

    __module__ = "pyspark.sql.connect.streaming.readwriter"

    def __init__(self, **options: str) -> None:
        self._write_proto = SimpleNamespace(options=options)
        self._session = SimpleNamespace(conf={})
        self.called: list[str] = []

    def outputMode(self, mode: str) -> "RemoteWriter":
        self.called.append(mode)
        return self

    def foreachBatch(self, write: Callable[[Any, int], None]) -> "RemoteWriter":
        self.write = write
        return self

    def start(self) -> str:
        return "started"


def writer(**options: str) -> Any:
    return RemoteWriter(**options)


def test_nobody_knows_which_query_it_is() -> None:
    with pytest.raises(SinkError, match="give start_updates a query_id that is the same over restarts"):
        start_updates(writer(checkpointLocation="c"), OPTIONS)


def test_a_checkpoint_is_needed() -> None:
    with pytest.raises(OptionError, match=r"^checkpointLocation: must be given"):
        start_updates(writer(), OPTIONS, query_id="q")


def test_started_in_its_mode() -> None:
    given = writer(checkpointlocation="c")
    assert start_updates(given, OPTIONS, query_id="q") == "started"  # type: ignore[comparison-overlap]
    assert given.called == ["update"]


def test_the_checkpoint_is_handed_on_because_connect_does_not_tell_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}
    monkeypatch.setattr(updates, "write_exactly_once", lambda *_arguments, **named: seen.update(named))
    given = writer(checkpointlocation="c")
    start_updates(given, OPTIONS, query_id="q")
    given.write(None, 7)
    assert seen == {"query_id": "q", "checkpoint": "c"}
