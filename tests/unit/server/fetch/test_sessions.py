"""Fetch sessions: the changes by an incremental request, what its answer leaves out, and when it is refused."""

from typing import Any

import pytest
from tests.support.serving import create, produce, values_in

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tidelog.server.fetch.session import ENTRY_BYTES, FetchSession
from tidelog.server.fetch.sessions import (
    EVICTABLE_AFTER_MS,
    KEPT_AFTER_CONNECTION_MS,
    KEPT_UNKNOWN_MS,
    MAX_EPOCH,
    FetchSessions,
)
from tidelog.server.requests.handler import run_whole
from tidelog.sim.node_world import NodeWorld, SimClient

BY_NAME, BY_ID = 12, 13


class Session:
    def __init__(self, client: SimClient, topic: str, topic_id: bytes, version: int) -> None:
        self.client, self.topic, self.topic_id, self.version = client, topic, Uuid(topic_id), version
        self.id, self.epoch = 0, 0

    def _name(self) -> dict[str, Any]:
        return {"topic": self.topic} if self.version < BY_ID else {"topic_id": self.topic_id}

    def ask(self, offsets: dict[int, int] | None = None, forget: list[int] | None = None, **kwargs: Any) -> Any:
        """Fetch these partitions from their offsets; return the answer's partitions by index."""
        partitions = [
            FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=kwargs.pop("each_bytes", 1 << 20))
            for index, offset in (offsets or {}).items()
        ]
        request = FetchRequest(
            max_wait_ms=kwargs.pop("max_wait_ms", 0),
            min_bytes=1,
            session_id=kwargs.pop("session_id", self.id),
            session_epoch=kwargs.pop("session_epoch", self.epoch),
            topics=[FetchTopic(**self._name(), partitions=partitions)] if partitions else [],
            forgotten_topics_data=[ForgottenTopic(**self._name(), partitions=forget)] if forget else [],
            **kwargs,
        )
        self.response = self.client.ask(request, self.version)
        if self.response.error_code == ErrorCode.NONE and self.response.session_id:
            self.id, self.epoch = self.response.session_id, self.epoch + 1
        return {each.partition_index: each for named in self.response.responses for each in named.partitions}


@pytest.fixture(params=[BY_NAME, BY_ID])
def session(request: pytest.FixtureRequest, client: SimClient, topic: str) -> Session:
    return Session(client, topic, create(client, topic, partitions=4), request.param)


def test_without_a_session(session: Session) -> None:
    assert list(session.ask({0: 0}, session_epoch=-1)) == [0]
    assert session.response.session_id == 0


def test_unchanged_partitions_are_left_out(session: Session) -> None:
    assert list(session.ask({0: 0, 1: 0, 2: 0})) == [0, 1, 2]
    assert session.id != 0
    assert session.ask() == {}
    produce(session.client, session.topic, b"x", partition=1)
    assert [(index, values_in(data.records)) for index, data in session.ask().items()] == [(1, [b"x"])]
    assert list(session.ask()) == [1]  # it still asks from offset 0, and records are always sent
    assert session.ask({1: 1}) == {}


def test_partitions_are_added_and_forgotten(session: Session) -> None:
    session.ask({0: 0})
    assert list(session.ask({3: 0})) == [3]
    for index in (0, 3):
        produce(session.client, session.topic, b"x", partition=index)
    assert list(session.ask(forget=[0])) == [3]


def test_when_everything_is_forgotten_the_session_ends(session: Session) -> None:
    session.ask({0: 0})
    assert session.ask(forget=[0]) == {}
    assert session.response.session_id == 0
    session.ask()
    assert session.response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_error_is_told_every_time(session: Session) -> None:
    assert {index: data.error_code for index, data in session.ask({0: 0, 1: 99}).items()} == {0: 0, 1: 1}
    for _ in range(2):
        assert {index: data.error_code for index, data in session.ask().items()} == {1: 1}
    assert {index: data.error_code for index, data in session.ask({1: 0}).items()} == {1: 0}  # its end, once
    assert session.ask() == {}


def test_epochs_that_are_not_the_next(session: Session) -> None:
    session.ask({0: 0})
    for epoch in (2, 5, MAX_EPOCH):
        assert session.ask(session_epoch=epoch) == {}
        assert session.response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        assert session.response.session_id == 0
    session.ask()
    assert session.response.error_code == ErrorCode.NONE  # the session lost nothing by that


def test_a_session_that_is_not_there(session: Session) -> None:
    session.ask(session_id=12345, session_epoch=1)
    assert session.response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_does_not_change_between_names_and_ids(session: Session) -> None:
    session.ask({0: 0})
    session.version = BY_ID if session.version == BY_NAME else BY_NAME
    session.ask()
    assert session.response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_closing_one_and_asking_once_more(session: Session) -> None:
    session.ask({0: 0})
    first = session.id
    assert list(session.ask({1: 0}, session_epoch=-1)) == [1]
    assert session.response.session_id == 0
    session.ask(session_id=first, session_epoch=1)
    assert session.response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_new_one_takes_the_place_of_the_clients_old_one(node: NodeWorld, session: Session) -> None:
    session.ask({0: 0})
    before, first = len(node.running.broker.fetch_sessions), session.id
    session.epoch = 0
    session.ask({0: 0})
    assert session.id != first
    assert len(node.running.broker.fetch_sessions) == before


def test_the_limit_of_a_response_starves_nobody(session: Session) -> None:
    for index in range(4):
        for _ in range(3):
            produce(session.client, session.topic, bytes(1_000), partition=index)
    seen = []
    seen += [i for i, data in session.ask(dict.fromkeys(range(4), 0), max_bytes=500).items() if data.records]
    for _ in range(3):
        seen += [index for index, data in session.ask(max_bytes=500).items() if data.records]
    assert sorted(seen) == [0, 1, 2, 3]


def test_a_topic_that_is_deleted_under_a_session(session: Session, node: NodeWorld) -> None:
    from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest

    session.ask({0: 0})
    session.client.ask(DeleteTopicsRequest(topic_names=[session.topic], timeout_ms=1_000), 5)
    node.run(10)
    by_id = session.version >= BY_ID
    create(session.client, session.topic)  # the same name, another topic
    produce(session.client, session.topic, b"other")
    found = session.ask()[0]
    assert found.error_code == (ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.NONE)


# The cache itself


def kept(sessions: FetchSessions, session_id: int, partitions: int, now_ms: int) -> FetchSession | None:
    """Admit a new session of that many partitions; None where there is no room for it."""
    session = FetchSession(0, False, now_ms)
    named = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1) for index in range(partitions)]
    run_whole(
        session.update(
            FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=named)]),
            lambda _topic_id: None,
        )
    )
    return session if sessions.admit(session, session_id, now_ms) else None


def test_the_epoch_wraps_to_one() -> None:
    sessions = FetchSessions(1)
    session = kept(sessions, 7, 1, 0)
    assert session is not None
    session.epoch = MAX_EPOCH
    assert sessions.use(7, MAX_EPOCH, False, 0) is session
    assert session.epoch == 1


def test_slots_are_given_up_when_unused_or_old_and_smaller() -> None:
    sessions = FetchSessions(2)
    assert kept(sessions, 1, 1, 0) is not None
    assert kept(sessions, 2, 5, 0) is not None
    assert kept(sessions, 3, 9, EVICTABLE_AFTER_MS) is None
    later_ms = EVICTABLE_AFTER_MS + 1
    sessions.use(2, 1, False, later_ms)
    assert kept(sessions, 3, 1, later_ms) is not None  # replaces 1, which has not been used
    assert sessions.use(1, 1, False, later_ms) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert kept(sessions, 4, 4, later_ms) is None  # 2 is old, but larger
    assert kept(sessions, 4, 5, later_ms) is not None
    assert sessions.use(2, 2, False, later_ms) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_no_slots_no_sessions() -> None:
    assert kept(FetchSessions(0), 1, 1, 0) is None


def test_the_memory_of_all_sessions_is_bound() -> None:
    one_bytes = ENTRY_BYTES + len("t")
    sessions = FetchSessions(1_000, bytes_max=10 * one_bytes)
    assert kept(sessions, 1, 11, 0) is None, "larger than all of them together may be"
    assert kept(sessions, 1, 6, 0) is not None
    assert kept(sessions, 2, 5, 0) is None
    assert kept(sessions, 2, 4, 0) is not None
    assert sessions.size_bytes == 10 * one_bytes
    assert kept(sessions, 3, 7, EVICTABLE_AFTER_MS + 1) is not None  # replaces 1 and 2, which have not been used
    assert (len(sessions), sessions.size_bytes) == (1, 7 * one_bytes)


def test_a_session_that_grows_beyond_the_memory_ends() -> None:
    sessions = FetchSessions(1_000, bytes_max=10 * (ENTRY_BYTES + len("t")))
    session = kept(sessions, 1, 10, 0)
    assert session is not None
    assert sessions.has_grown(session, 0)
    more = [FetchPartition(partition=99, fetch_offset=0, partition_max_bytes=1)]
    run_whole(
        session.update(
            FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=more)]),
            lambda _topic_id: None,
        )
    )
    assert not sessions.has_grown(session, 0)
    assert len(sessions) == 0


def test_what_is_forgotten_takes_no_memory() -> None:
    sessions = FetchSessions(1)
    session = kept(sessions, 1, 3, 0)
    assert session is not None
    gone = ForgottenTopic(topic="t", partitions=[0, 1, 2, 7])
    run_whole(
        session.update(
            FetchRequest(max_wait_ms=0, min_bytes=0, topics=[], forgotten_topics_data=[gone]), lambda _topic_id: None
        )
    )
    assert (session.size_bytes, session.partitions, session.unsettled) == (0, {}, {})


# The memory of sessions


def test_a_session_outlives_its_connection_for_a_while(node: NodeWorld, topic: str) -> None:
    sessions = node.running.broker.fetch_sessions
    client = node.client()
    first = Session(client, topic, create(client, topic), BY_NAME)
    first.ask({0: 0})
    client.close()
    node.run(2_000)
    now_ms = node.clock.monotonic_ms()
    sessions.expire(now_ms + KEPT_AFTER_CONNECTION_MS - 5_000)
    first.client = node.client()
    assert first.ask() == {}  # it reconnected, and its session goes on
    assert first.response.error_code == ErrorCode.NONE
    before = len(sessions)
    first.client.close()
    node.run(2_000)
    sessions.expire(node.clock.monotonic_ms() + KEPT_AFTER_CONNECTION_MS)
    assert len(sessions) < before
    first.client = node.client()
    first.ask()
    assert first.response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_an_idle_session_stays_as_long_as_its_connection(node: NodeWorld, session: Session) -> None:
    session.ask({0: 0})
    sessions, now_ms = node.running.broker.fetch_sessions, node.clock.monotonic_ms()
    for later_ms in (0, KEPT_AFTER_CONNECTION_MS, 2 * KEPT_AFTER_CONNECTION_MS):
        sessions.expire(now_ms + later_ms)
    session.ask()
    assert session.response.error_code == ErrorCode.NONE


def test_topics_that_do_not_exist_make_no_session(node: NodeWorld, client: SimClient) -> None:
    before = node.running.broker.fetch_sessions.partition_count
    by_name, by_id = Session(client, "nowhere", b"", BY_NAME), Session(client, "", bytes(15) + b"\x07", BY_ID)
    for unknown in (by_name, by_id):
        assert len(unknown.ask(dict.fromkeys(range(50), 0))) == 50
        assert unknown.response.session_id == 0
    assert node.running.broker.fetch_sessions.partition_count == before


def test_a_partition_that_does_not_exist_is_not_kept_for_ever(node: NodeWorld, session: Session) -> None:
    assert session.ask({0: 0, 77: 0})[77].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(session.ask()) == [77]
    sessions, now_ms = node.running.broker.fetch_sessions, node.clock.monotonic_ms()
    by_id = session.version >= BY_ID
    early_ms, late_ms = now_ms + KEPT_UNKNOWN_MS - 100, now_ms + KEPT_UNKNOWN_MS + 100
    assert isinstance(sessions.use(session.id, session.epoch, by_id, early_ms), FetchSession)
    gone = sessions.use(session.id, session.epoch + 1, by_id, late_ms)
    assert gone is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_that_ended_is_forgotten_by_its_partitions(node: NodeWorld, session: Session) -> None:
    session.ask({0: 0, 1: 0})
    topic_partitions = node.running.broker.hosted.by_topic_partition
    mine = [each for each in topic_partitions.values() if each.topic_partition.topic == session.topic]
    assert sum(len(each.fetch_waiters) for each in mine) == 2
    session.ask(session_epoch=-1)
    assert sum(len(each.fetch_waiters) for each in mine) == 0
