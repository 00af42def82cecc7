"""The quick path of a fetch gives the same answers as the ordinary one, and leaves the less simple requests to it."""

from typing import Any

import pytest
from tests.support.serving import batch_of, create, produce, values_in
from tests.unit.server.fetch.test_fetch import FIRST_BY_ID, NEWEST, OLDEST, hosted, only, request, wanted
from tests.unit.server.fetch.test_repeated_fetch import framed

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.sim.node_world import NodeWorld, SimClient


class Reader:
    """A consumer of one partition, with or without a session."""

    def __init__(self, node: NodeWorld, topic: str, topic_id: bytes, version: int, *, in_session: bool) -> None:
        self.node, self.version, self.in_session = node, version, in_session
        self.client = node.client()
        self.name: str | bytes = topic_id if version >= FIRST_BY_ID else topic
        self.session_id, self.epoch = 0, 0 if in_session else -1

    @property
    def path(self) -> Any:
        return max(self.node.running.broker.connections.all(), key=lambda each: each.id).fetch_path

    def ask(self, offset: int, **kwargs: Any) -> Any:
        sessions = {"session_id": self.session_id, "session_epoch": self.epoch} if self.version >= 7 else {}
        response = self.client.ask(request(self.name, wanted(offset=offset), **sessions, **kwargs), self.version)
        assert response.error_code == ErrorCode.NONE
        if self.in_session:
            self.session_id, self.epoch = response.session_id, self.epoch + 1
        assert response.session_id == self.session_id
        return response


@pytest.fixture(params=[False, True], ids=["plain", "session"])
def in_session(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.parametrize("version", range(OLDEST, NEWEST + 1))
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_the_same_answer_as_the_ordinary_way(
    node: NodeWorld, client: SimClient, topic: str, version: int, isolation_level: int, in_session: bool
) -> None:
    topic_id = create(client, topic)
    for number in range(6):
        produce(client, topic, bytes([number]) * (100 if number % 2 else 20_000))
    reader = Reader(node, topic, topic_id, version, in_session=in_session and version >= 7)
    ordinary = Reader(node, topic, topic_id, version, in_session=False)
    for offset in range(6):
        limits = {"max_bytes": 20_500, "isolation_level": isolation_level}
        mine = only(reader.ask(offset, **limits))
        ordinary.client.close()
        ordinary.client = node.client()
        theirs = only(ordinary.ask(offset, **limits))
        assert bytes(mine.records) == bytes(theirs.records)
        assert mine.aborted_transactions == theirs.aborted_transactions == ([] if isolation_level else None)
        for field in ("high_watermark", "last_stable_offset", "log_start_offset", "error_code"):
            assert getattr(mine, field) == getattr(theirs, field)


def test_a_request_like_the_last_one_takes_it(node: NodeWorld, client: SimClient, topic: str, in_session: bool) -> None:
    topic_id = create(client, topic)
    for _ in range(3):
        produce(client, topic, bytes(1_000))
    reader = Reader(node, topic, topic_id, 12, in_session=in_session)
    for _ in range(2):  # the first request of a session does not name it yet
        reader.ask(0, max_bytes=1_100)
    path = reader.path
    assert path is not None
    handled = node.running.broker.dispatch.handle
    node.running.broker.dispatch.handle = None  # type: ignore[method-assign,assignment]
    try:
        assert values_in(only(reader.ask(1, max_bytes=1_100)).records, 1) == [bytes(1_000)]
        assert values_in(only(reader.ask(2, max_bytes=1_100)).records, 2) == [bytes(1_000)]
    finally:
        node.running.broker.dispatch.handle = handled  # type: ignore[method-assign]
    assert reader.path is path


def test_a_reader_at_the_end_waits_the_ordinary_way(
    node: NodeWorld, client: SimClient, topic: str, in_session: bool
) -> None:
    topic_id = create(client, topic)
    produce(client, topic, b"a")
    reader = Reader(node, topic, topic_id, 12, in_session=in_session)
    kwargs = {"max_wait_ms": 10_000, "session_id": 0, "session_epoch": reader.epoch}
    first = reader.client.ask(request(topic, wanted(), **kwargs), 12)
    sessions = {"session_id": first.session_id, "session_epoch": 1 if in_session else -1}
    reader.client.send(request(topic, wanted(offset=1), max_wait_ms=10_000, **sessions), 12)
    node.run(10)
    assert reader.client.poll() is None
    produce(client, topic, b"b")
    assert values_in(only(reader.client.receive()).records, 1) == [b"b"]


def test_what_is_out_of_range_is_said_the_ordinary_way(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic)
    for _ in range(3):
        produce(client, topic, b"x")
    reader = Reader(node, topic, b"", 12, in_session=False)
    reader.ask(0)
    cut = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
    client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=0), 2)
    for offset in (1, 4, -1):
        assert only(reader.ask(offset)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert only(reader.ask(2)).log_start_offset == 2


def test_a_wrong_epoch_of_the_session_is_refused(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"x")
    reader = Reader(node, topic, b"", 12, in_session=True)
    reader.ask(0)
    reader.ask(0)
    for epoch in (1, 3, 9):
        again = request(topic, wanted(), session_id=reader.session_id, session_epoch=epoch)
        assert reader.client.ask(again, 12).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert values_in(only(reader.ask(0)).records) == [b"x"]


def test_a_partition_that_is_not_ours_any_more(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"x")
    reader = Reader(node, topic, b"", 12, in_session=False)
    reader.ask(0)
    partition = hosted(node, topic)
    partition.is_online = False
    assert only(reader.ask(0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    partition.is_online = True
    partition.leader_id = 7
    assert only(reader.ask(0)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    partition.leader_id = partition.local_id
    assert values_in(only(reader.ask(0)).records) == [b"x"]


def test_another_request_of_the_same_length_is_not_mistaken(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, partitions=2)
    produce(client, topic, b"zero", partition=0)
    produce(client, topic, b"one", partition=1)
    reader = node.client()
    for index, value in ((0, b"zero"), (1, b"one"), (0, b"zero")):
        assert values_in(only(reader.ask(request(topic, wanted(index)), 12)).records) == [value]
    few = request(topic, wanted(0, max_bytes=1), max_wait_ms=5, min_bytes=9_999)
    assert values_in(only(reader.ask(few, 12)).records) == [b"zero"]


def test_a_session_that_is_over_is_not_gone_on_with(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"x")
    reader = Reader(node, topic, b"", 12, in_session=True)
    for _ in range(3):
        reader.ask(0)
    node.running.broker.fetch_sessions.close(reader.session_id)
    again = request(topic, wanted(), session_id=reader.session_id, session_epoch=reader.epoch)
    assert reader.client.ask(again, 12).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


SMALL_BYTES = 80  # one record a response


class ChangingReader:
    """A consumer whose session gains and loses partitions."""

    def __init__(self, node: NodeWorld, topic: str) -> None:
        self._client, self._topic = node.client(), topic
        self._session_id, self._epoch = 0, 0

    def ask(self, *partitions: FetchPartition, forgotten: tuple[int, ...] = ()) -> list[tuple[int, list[bytes]]]:
        """Fetch; return the partitions that the response names, each with the values of its records."""
        left = [ForgottenTopic(topic=self._topic, partitions=list(forgotten))] if forgotten else []
        response = self._client.ask(
            FetchRequest(
                max_wait_ms=0,
                min_bytes=1,
                topics=[FetchTopic(topic=self._topic, partitions=list(partitions))],
                forgotten_topics_data=left,
                session_id=self._session_id,
                session_epoch=self._epoch,
            ),
            12,
        )
        assert response.error_code == ErrorCode.NONE
        self._session_id, self._epoch = response.session_id, self._epoch + 1
        return [(each.partition_index, values_in(each.records)) for each in only_topics(response)]


def only_topics(response: Any) -> list[Any]:
    return [each for topic in response.responses for each in topic.partitions]


def two_partitions(client: SimClient, topic: str) -> None:
    create(client, topic, partitions=2)
    for number in range(8):
        produce(client, topic, b"%d" % number, partition=0)


def test_a_session_that_has_grown_is_asked_for_all_of_it(node: NodeWorld, client: SimClient, topic: str) -> None:
    two_partitions(client, topic)
    reader = ChangingReader(node, topic)
    for offset in range(3):
        reader.ask(wanted(0, offset, SMALL_BYTES))
    reader.ask(wanted(0, 3, SMALL_BYTES), wanted(1, 0))
    produce(client, topic, b"other", partition=1)
    assert (1, [b"other"]) in reader.ask(wanted(0, 4, SMALL_BYTES))


def test_a_partition_that_was_forgotten_and_named_again_is_told_once(
    node: NodeWorld, client: SimClient, topic: str
) -> None:
    two_partitions(client, topic)
    reader = ChangingReader(node, topic)
    for offset in range(3):
        reader.ask(wanted(0, offset, SMALL_BYTES))
    reader.ask(wanted(1, 0), forgotten=(0,))
    reader.ask(wanted(0, 3, SMALL_BYTES), forgotten=(1,))
    for offset in range(4, 8):
        assert reader.ask(wanted(0, offset, SMALL_BYTES)) == [(0, [b"%d" % offset])]
    assert [records for _, records in reader.ask(wanted(0, 8, SMALL_BYTES)) if records] == []


@pytest.fixture
def reader(node: NodeWorld, client: SimClient, topic: str) -> Reader:
    """Return a consumer whose connection has learned the quick path."""
    topic_id = create(client, topic)
    for _ in range(3):
        produce(client, topic, bytes(1_000))
    reader = Reader(node, topic, topic_id, 12, in_session=False)
    reader.ask(0, max_bytes=1_100)
    assert reader.path is not None
    return reader


def test_an_answer_leaves_before_the_next_request_is_handled(node: NodeWorld, reader: Reader) -> None:
    """One turn receives two requests: the first answer is sent before the second request is handled."""
    broker, sent = node.running.broker, []
    turn, send = broker.turn, broker.network.send

    def noting(connection: Any, parts: Any) -> bool:
        sent.append((turn.began_ns, sum(map(len, parts))))
        return bool(send(connection, parts))

    broker.network.send = noting  # type: ignore[method-assign]
    try:
        reader.client.send_bytes(
            b"".join(framed(request(reader.name, wanted(offset=offset), max_bytes=1_100), 12) for offset in (1, 2))
        )
        node.run(50)
    finally:
        broker.network.send = send  # type: ignore[method-assign]
    (first, size), (second, same_size) = sent
    assert (first, size) == (second, same_size)
    assert 1_000 < size < 2_000


def test_a_client_that_does_not_take_its_answer_is_not_given_the_next(node: NodeWorld, reader: Reader) -> None:
    broker, sent = node.running.broker, []
    client = max(broker.connections.all(), key=lambda each: each.id)
    send = broker.network.send

    def half_taken(connection: Any, parts: Any) -> bool:
        sent.append(connection)
        send(connection, parts)
        return False

    broker.network.send = half_taken  # type: ignore[method-assign]
    try:
        body = request(reader.name, wanted(offset=1), max_bytes=1_100)
        reader.client.send_bytes(3 * framed(body, 12))
        node.run(50)
        assert sent == [client.id]
        client.drained()
        node.run(50)
        assert sent == [client.id] * 2
    finally:
        broker.network.send = send  # type: ignore[method-assign]


def test_behind_an_answer_that_waits_for_the_turns_end_it_waits_too(
    node: NodeWorld, topic: str, reader: Reader
) -> None:
    """A produce before the fetch on the same connection is written first, and both answers leave together."""
    broker, events = node.running.broker, []
    logs, send = broker.logs, broker.network.send
    commit = logs.commit

    def committing(*arguments: Any, **named: Any) -> None:
        events.append("commit")
        commit(*arguments, **named)

    def sending(*arguments: Any) -> bool:
        events.append("send")
        return bool(send(*arguments))

    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch_of(b"x"))])
    logs.commit, broker.network.send = committing, sending  # type: ignore[method-assign,assignment]
    try:
        reader.client.send(ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[data]), 9)
        reader.client.send(request(reader.name, wanted(offset=1), max_bytes=1_100), 12)
        produced, fetched = node.wait_for(reader.client.poll), node.wait_for(reader.client.poll)
    finally:
        logs.commit, broker.network.send = commit, send  # type: ignore[method-assign]
    assert events[:2] == ["commit", "send"]
    assert produced.responses[0].partition_responses[0].base_offset == 3
    assert values_in(only(fetched).records, 1) == [bytes(1_000)]
