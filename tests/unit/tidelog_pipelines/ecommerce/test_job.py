"""The ends of the job: with its queries, by a signal, or because a query failed."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from tidelog_pipelines.ecommerce import job


@dataclass(slots=True)
class FakeQuery:
    name: str
    looks: int = 1_000_000  # how many looks it is active for
    failure: str | None = None
    dropped: int = 0
    busy: int = 0  # looks until its batch is done
    log: list[str] = field(default_factory=list)

    @property
    def isActive(self) -> bool:
        self.looks -= 1
        return self.looks >= 0

    @property
    def status(self) -> dict[str, bool]:
        self.busy -= 1
        return {"isTriggerActive": self.busy >= 0}

    @property
    def lastProgress(self) -> dict[str, Any]:
        operators = [{"numRowsDroppedByWatermark": self.dropped}]
        return {"batchId": 7, "durationMs": {"addBatch": 1}, "stateOperators": operators}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:
        return [self.lastProgress]

    def exception(self) -> str | None:
        return self.failure if self.looks < 0 else None

    def stop(self) -> None:
        assert self.looks < 0 or self.busy < 0, "in the middle of a batch"
        self.looks = -1
        self.log.append(self.name)


def supervise(queries: Sequence[FakeQuery], *answers: bool) -> int:
    given = iter([*answers, True])
    return job.supervise(cast(Any, queries), lambda _seconds: next(given))


def test_a_signal_stops_the_queries_in_order_between_batches() -> None:
    log: list[str] = []
    queries = [FakeQuery("results", busy=3, log=log), FakeQuery("dead_letters", busy=1, log=log)]
    assert supervise(queries, False, True) == 0
    assert log == ["results", "dead_letters"]


@dataclass(slots=True)
class StartingQuery:
    """A query that is active for `looks` looks, with its first progress after `first_batch_after`."""

    looks: int
    first_batch_after: int
    asked: int = 0

    @property
    def isActive(self) -> bool:
        self.looks -= 1
        return self.looks >= 0

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        self.asked += 1
        return {} if self.asked > self.first_batch_after else None


def first_batch(query: StartingQuery, *told: bool, patience_s: float = 60.0) -> list[float]:
    """Wait for the query's first batch; return how long each wait between looks was."""
    waited: list[float] = []
    given = iter(told)

    def is_told(seconds: float) -> bool:
        waited.append(seconds)
        return next(given, False)

    job.wait_for_first_batch(cast(Any, query), is_told, patience_s)
    return waited


def test_the_other_queries_wait_for_the_first_batch_of_the_results() -> None:
    assert len(first_batch(StartingQuery(looks=100, first_batch_after=5))) == 5


def test_but_not_for_one_that_fails_or_for_ever_or_against_a_signal() -> None:
    assert len(first_batch(StartingQuery(looks=3, first_batch_after=50))) == 3
    assert first_batch(StartingQuery(looks=100, first_batch_after=50), patience_s=0) == []
    assert len(first_batch(StartingQuery(looks=100, first_batch_after=50), False, True)) == 2


def test_queries_that_have_ended_end_the_job() -> None:
    assert supervise([FakeQuery("results", looks=5), FakeQuery("archive", looks=3)], *[False] * 100) == 0


def test_a_query_that_failed_ends_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    log: list[str] = []
    queries = [FakeQuery("results", log=log), FakeQuery("archive", looks=2, failure="no room", log=log)]
    assert supervise(queries, *[False] * 100) == 1
    assert log == ["results", "archive"]
    assert "query archive failed: no room" in capsys.readouterr().err


def test_rows_that_the_watermark_drops_are_said_once_and_end_in_an_error(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    assert supervise([FakeQuery("results", dropped=3)], *[False] * 5) == 1
    assert caplog.text.count("query results, batch 7: 3 rows") == 1
    assert capsys.readouterr().err == "ecommerce: 3 rows were dropped at the watermark; the results lack them\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_heard_and_handed_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with job.stop_signal() as is_told:
        assert not is_told(0)
        os.kill(os.getpid(), number)
        assert is_told(1)
    assert signal.getsignal(number) is before


def test_a_setting_that_nobody_can_follow_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--bootstrap-server", "127.0.0.1:1", "--checkpoint", "/nowhere", "--kafka", "sasl.mechanism=GSSAPI"]
    assert job.main([*arguments, "--kafka", "security.protocol=SASL_SSL"]) == 1
    assert capsys.readouterr().err.startswith("ecommerce: kafka.sasl.mechanism: ")


def test_a_cluster_out_of_reach_is_an_error_and_no_session(capsys: pytest.CaptureFixture[str]) -> None:
    assert job.main(["--bootstrap-server", "127.0.0.1:1", "--checkpoint", "/nowhere"]) == 1
    assert "ecommerce: " in capsys.readouterr().err
