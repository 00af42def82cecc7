"""What the query has finished with reaches the group, and the query never waits for it."""

import logging
import pickle
import threading
from types import TracebackType
from typing import Any, Self

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadAllAvailable
from tests.unit.pyspark_tidelog.fake_cluster import FakeCluster

from pyspark_tidelog import DefaultSource
from pyspark_tidelog.kafka.offsets import Offsets
from pyspark_tidelog.kafka.settings import ClusterOptions
from pyspark_tidelog.source.group_commits import GroupCommits
from pyspark_tidelog.source.schema import spark_schema
from tidelog.client.admin.admin_client import Admin
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition

PLACE = TopicPartition("t", 0)


class FakeClient:
    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.is_closed = True


class Coordinator:
    """Takes commits while it is open; the gate holds them up."""

    def __init__(self) -> None:
        self.committed: list[Offsets] = []
        self.gate = threading.Event()
        self.gate.set()
        self.error: ClientError | None = None
        self.refusal: ClientError | None = None

    def commit(self, offsets: Offsets) -> dict[TopicPartition, ClientError | None]:
        assert self.gate.wait(10)
        self.committed.append(offsets)
        if self.error is not None:
            raise self.error
        return dict.fromkeys(offsets, self.refusal)


@pytest.fixture
def coordinator(monkeypatch: pytest.MonkeyPatch) -> Coordinator:
    made = Coordinator()

    def alter(_admin: Admin, group_id: str, offsets: Any) -> Any:
        assert group_id == "group"
        return made.commit(offsets)

    monkeypatch.setattr(Admin, "alter_group_offsets", alter)
    monkeypatch.setattr(ClusterOptions, "connect", lambda _self, **_how: FakeClient())
    return made


def commits() -> GroupCommits:
    return GroupCommits(ClusterOptions("localhost:1", "test", 1000, 1000, None), "group")


def test_what_is_finished_is_committed_once(coordinator: Coordinator) -> None:
    group = commits()
    group.finished({PLACE: 5})
    group.close()
    assert coordinator.committed == [{PLACE: 5}]


def test_the_same_offsets_are_not_committed_again(coordinator: Coordinator) -> None:
    """An idle query looks for news many times a second."""
    group = commits()
    for _ in range(100):
        group.finished({PLACE: 5})
    group.close()
    assert coordinator.committed == [{PLACE: 5}]


def test_the_query_does_not_wait_and_the_newest_offsets_win(coordinator: Coordinator) -> None:
    coordinator.gate.clear()
    group = commits()
    for offset in range(1, 1000):
        group.finished({PLACE: offset})
    coordinator.gate.set()
    group.close()
    assert len(coordinator.committed) <= 2
    assert coordinator.committed[-1] == {PLACE: 999}


@pytest.mark.parametrize("kind", ["error", "refusal"])
def test_a_failure_is_told_once_and_fails_nothing(
    coordinator: Coordinator, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    setattr(coordinator, kind, ClientError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "commit offsets", "group group"))
    group = commits()
    with caplog.at_level(logging.WARNING, "pyspark_tidelog"):
        for offset in range(3):
            group.finished({PLACE: offset})
            wait_for(coordinator, offset + 1)
        setattr(coordinator, kind, None)
        group.finished({PLACE: 9})
        group.close()
    assert coordinator.committed[-1] == {PLACE: 9}
    (told,) = caplog.messages
    assert told.startswith("offsets are not committed to group group, and the query goes on: ")
    assert "GROUP_AUTHORIZATION_FAILED" in told


def wait_for(coordinator: Coordinator, count: int) -> None:
    waiting = threading.Event()
    for _ in range(1000):
        if len(coordinator.committed) >= count:
            return
        waiting.wait(0.01)
    raise AssertionError(coordinator.committed)


def test_a_reader_with_one_can_be_pickled(coordinator: Coordinator) -> None:
    group = commits()
    group.finished({PLACE: 5})
    copy = pickle.loads(pickle.dumps(group))
    copy.finished({PLACE: 7})
    copy.close()
    group.close()
    assert {PLACE: 7} in coordinator.committed


def test_one_that_was_never_used_closes_at_once(coordinator: Coordinator) -> None:
    commits().close()
    assert coordinator.committed == []


def test_the_reader_of_a_stream_tells_where_its_batches_begin(
    coordinator: Coordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark asks for news when the batch before is done: what it says it begins with is finished."""
    cluster = FakeCluster()
    cluster.create("t", 40)
    named = {"kafka.bootstrap.servers": "nobody:1", "subscribe": "t", "commitOffsetsToGroup": "group"}
    reader: Any = DefaultSource(CaseInsensitiveDict(named)).streamReader(spark_schema(["value"]))
    planner = threading.current_thread()

    def connect(_options: ClusterOptions, **_how: bool) -> object:
        return cluster.client if threading.current_thread() is planner else FakeClient()

    monkeypatch.setattr(ClusterOptions, "connect", connect)
    assert reader.latestOffset({"t": {"0": 7}}, ReadAllAvailable()) == {"t": {"0": 40}}
    wait_for(coordinator, 1)
    reader.commit({"t": {"0": 40}})
    reader.stop()
    assert coordinator.committed == [{PLACE: 7}, {PLACE: 40}]
