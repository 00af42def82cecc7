"""Rows that the watermark dropped are reported once a batch, however often progress is looked at between batches."""

from typing import Any, cast

import pytest

from tidelog_pipelines.ecommerce.dropped import DroppedRows


class FakeQuery:
    name = "results"

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []
        self.asked_for_all = 0

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        return self.recentProgress[-1] if self.recentProgress else None

    def ran(self, batch: int, *dropped: int) -> None:
        operators = [{"numRowsDroppedByWatermark": rows} for rows in dropped]
        self.recentProgress.append({"batchId": batch, "durationMs": {"addBatch": 5}, "stateOperators": operators})

    def idled(self, batch: int) -> None:
        self.recentProgress.append({"batchId": batch, "durationMs": {"latestOffset": 1}, "stateOperators": []})


@pytest.fixture
def query() -> FakeQuery:
    return FakeQuery()


def dropped_rows(query: FakeQuery) -> DroppedRows:
    return DroppedRows(cast(Any, query))


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().split(" rows")[0] for record in caplog.records]


def test_a_batch_is_told_once(query: FakeQuery, caplog: pytest.LogCaptureFixture) -> None:
    dropped = dropped_rows(query)
    dropped.follow()
    query.ran(0, 2, 1)
    for _ in range(3):
        dropped.follow()
    query.ran(1, 0)
    dropped.follow()
    query.ran(2, 4)
    dropped.follow()
    assert dropped.total() == 7
    assert told(caplog) == ["query results, batch 0: 3", "query results, batch 2: 4"]
    assert {record.levelname for record in caplog.records} == {"ERROR"}


def test_batches_between_two_looks_are_told(query: FakeQuery, caplog: pytest.LogCaptureFixture) -> None:
    dropped = dropped_rows(query)
    query.ran(0, 0)
    dropped.follow()
    query.ran(1, 5)
    query.ran(2, 0)
    dropped.follow()
    assert told(caplog) == ["query results, batch 1: 5"]
    query.ran(3, 6)
    assert dropped.total() == 11, "the query ended before anybody looked again"


def test_a_progress_without_a_batch_is_not_taken_for_one(query: FakeQuery, caplog: pytest.LogCaptureFixture) -> None:
    dropped = dropped_rows(query)
    query.ran(0, 0)
    query.idled(1)
    dropped.follow()
    query.ran(1, 5)
    query.ran(2, 0)
    dropped.follow()
    assert told(caplog) == ["query results, batch 1: 5"]
