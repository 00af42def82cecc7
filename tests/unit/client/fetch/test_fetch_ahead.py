"""The fetch loop over a log that is a list: which requests it sends and when, what it waits for, and when it gives
up."""

import logging

import pytest
from tests.unit.client.fetch_log import PLACE, TOPIC_ID, FetchLog, Step, partition_of, refused, topic_metadata
from tests.unit.records.raw import batch, content, field, record, varint

from tidelog.client.errors import ClientError, CorruptRecords, TimedOut
from tidelog.client.fetch.fetch_ahead import BYTES_EACH_GUESSED, BYTES_LEAST, Chunk, FetchAhead, KnownLeader, RangeLost
from tidelog.client.fetch.fetcher import FetchOptions
from tidelog.client.metadata import Node
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.fetch import FetchResponse


def plain(base: int, count: int = 10) -> bytes:
    return batch(*(record(content(varint(delta))) for delta in range(count)), base_offset=base)


def log_of(*bases: int) -> FetchLog:
    return FetchLog(*map(plain, bases))


def reader(log: FetchLog, start: int = 0, end: int | None = None, **options: object) -> FetchAhead:
    client = log.client(retry_timeout_ms=20_000)
    size = FetchOptions(partition_bytes=len(plain(0)) + 10, read_committed=options.pop("read_committed", False) is True)
    end = log.end if end is None else end
    return FetchAhead(client, PLACE, start, end, size, open_link=log.open_link, **options)  # type: ignore[arg-type]


def chunks(source: FetchAhead) -> list[Chunk]:
    found = []
    while (chunk := source.next_chunk()) is not None:
        found.append(chunk)
    return found


def spans(source: FetchAhead) -> list[tuple[int, int]]:
    return [(chunk.offset, chunk.next_offset) for chunk in chunks(source)]


def test_the_next_request_is_on_its_way_before_a_chunk_is_handed_out() -> None:
    log = log_of(0, 10, 20)
    source = reader(log, 5)
    assert source.next_chunk() is not None
    assert [each.topics[0].partitions[0].fetch_offset for each in log.requests] == [5, 10]
    assert spans(source) == [(10, 20), (20, 30)]
    assert len(log.requests) == 3, "nothing is asked for past the end"
    assert log.nodes == [1]


def test_a_leader_that_is_known_is_not_asked_for() -> None:
    log = log_of(0, 10)
    source = reader(log, topic_id=TOPIC_ID, leader=KnownLeader(Node(7, "host", 9092), 4))
    log.clients[0].metadata.topics.clear()  # a lookup of the leader would find nothing
    assert spans(source) == [(0, 10), (10, 20)]
    assert log.nodes == [7]
    asked = log.requests[0].topics[0]
    assert (asked.topic_id, asked.partitions[0].current_leader_epoch) == (TOPIC_ID, 4)


@pytest.mark.parametrize("step", [refused(ErrorCode.NOT_LEADER_OR_FOLLOWER), ConnectionError("gone")])
def test_a_leader_that_was_one_costs_one_try_and_no_word(step: Step, caplog: pytest.LogCaptureFixture) -> None:
    log = log_of(0, 10)
    log.script = [step]
    source = reader(log, topic_id=TOPIC_ID, leader=KnownLeader(Node(7, "host", 9092), 4))
    assert spans(source) == [(0, 10), (10, 20)]
    assert log.nodes == [7, 1]
    assert log.requests[-1].topics[0].partitions[0].current_leader_epoch == 5
    assert caplog.messages == []


def test_a_known_leader_of_a_topic_that_was_made_anew() -> None:
    log = log_of(0, 10)
    log.script = [refused(ErrorCode.UNKNOWN_TOPIC_ID)]
    other = Uuid(b"fedcba9876543210")
    source = reader(log, topic_id=other, leader=KnownLeader(Node(7, "host", 9092), 4))
    with pytest.raises(RangeLost, match="the topic was deleted and made anew"):
        source.next_chunk()


def test_a_known_leader_that_is_too_old_to_be_told_the_topic() -> None:
    """A leader that takes no topic ids would serve whatever topic has the name now."""
    log = log_of(0, 10)
    log.version = 12
    source = reader(log, topic_id=TOPIC_ID, leader=KnownLeader(Node(7, "host", 9092), 4))
    assert spans(source) == [(0, 10), (10, 20)]
    other = reader(log, topic_id=Uuid(b"fedcba9876543210"), leader=KnownLeader(Node(7, "host", 9092), 4))
    with pytest.raises(RangeLost, match="the topic was deleted and made anew"):
        other.next_chunk()


def test_what_a_request_says() -> None:
    log = log_of(0)
    chunks(reader(log, rack="here"))
    (request,) = log.requests
    asked = request.topics[0].partitions[0]
    assert (request.topics[0].topic_id, asked.partition, asked.current_leader_epoch) == (TOPIC_ID, 3, 5)
    assert (request.session_epoch, request.rack_id, request.isolation_level) == (-1, "here", 0)
    chunks(reader(log, read_committed=True))
    assert log.requests[-1].isolation_level == 1


def test_no_more_is_asked_for_than_the_rest_of_the_range_takes() -> None:
    value = field(b"v" * 10_000)
    wide = [
        batch(*(record(content(varint(at), value=value)) for at in range(10)), base_offset=10 * n) for n in range(9)
    ]
    log = FetchLog(*wide)
    client, most = log.client(retry_timeout_ms=20_000), 1 << 20
    for start, end in ((0, 1_000_000), (15, 85)):
        log.requests.clear()
        source = FetchAhead(client, PLACE, start, end, FetchOptions(partition_bytes=most), open_link=log.open_link)
        assert source.next_chunk() is not None
        source.close()
        first, second = (each.topics[0].partitions[0] for each in log.requests)
        left = end - second.fetch_offset
        assert first.partition_max_bytes == min(most, max(BYTES_LEAST, (end - start) * BYTES_EACH_GUESSED))
        assert second.partition_max_bytes == min(most, left * (len(wide[0]) // 10 + 1))


def test_batches_out_of_order_are_handed_on_as_they_are() -> None:
    log = log_of(20, 10)
    options = FetchOptions(partition_bytes=1 << 20)
    source = FetchAhead(log.client(retry_timeout_ms=20_000), PLACE, 15, 20, options, open_link=log.open_link)
    assert spans(source) == [(15, 20)]


def test_a_gap_at_the_end_is_passed_by_the_batch_behind_it() -> None:
    log = log_of(0, 50)
    assert spans(reader(log, 0, 30)) == [(0, 10), (10, 60)]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_what_passes_is_tried_again_at_the_leader_of_that_time(
    code: ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_of(0, 10)
    source = reader(log)
    assert source.next_chunk() is not None
    log.script = [refused(code), refused(code)]
    log.clients[0].metadata.topics["orders"] = topic_metadata(TOPIC_ID, leader=2, epoch=6)
    with caplog.at_level(logging.WARNING, "tidelog.client"):
        assert spans(source) == [(10, 20)]
    assert log.nodes == [1, 2, 2]
    assert log.requests[-1].topics[0].partitions[0].current_leader_epoch == 6
    first, last = caplog.messages
    assert first.startswith(f"fetch orders-3 from offset 10 (broker 1 at host:9092): {code.name}")
    assert "trying again for 20 s" in first
    assert "fetch orders-3 from offset 10 (broker 2 at host:9092): works again after 0." in last


def test_a_broker_that_dies_is_waited_for() -> None:
    log = log_of(0, 10)
    log.script = [ConnectionError("it closed the connection"), TimeoutError("no answer within 30 s")]
    assert spans(reader(log)) == [(0, 10), (10, 20)]
    assert log.nodes == [1, 1, 1]


def test_not_for_ever() -> None:
    log = log_of(0)
    log.script = [ConnectionError("it closed the connection") for _ in range(1000)]
    with pytest.raises(ClientError, match=r"fetch orders-3 from offset 0 .*it closed the connection") as caught:
        chunks(reader(log))
    assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
    assert log.clients[0].now_ms() >= 20_000


def test_what_does_not_pass_is_raised_at_once() -> None:
    log = log_of(0)
    log.script = [refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)]
    with pytest.raises(ClientError, match="TOPIC_AUTHORIZATION_FAILED"):
        chunks(reader(log))
    assert len(log.requests) == 1


def test_what_the_log_no_longer_has() -> None:
    log = log_of(0, 10)
    source = reader(log)
    assert source.next_chunk() is not None
    source.close()  # what was fetched ahead would still come
    log.log_start_offset, log.batches = 15, [plain(10), plain(20)]
    log.end = 30
    with pytest.raises(RangeLost, match="offsets 15 to 30") as caught:
        source.next_chunk()
    assert (caught.value.offset, caught.value.available) == (10, (15, 30))
    source.seek(15)
    assert spans(source) == [(15, 20)]


def test_a_log_that_was_truncated_below_the_position() -> None:
    log = log_of(0, 10)
    with pytest.raises(RangeLost) as caught:
        chunks(reader(log, 25, 30))
    assert caught.value.available == (0, 20)


def test_a_log_that_was_truncated_to_the_position_is_waited_for_and_then_lost() -> None:
    log = log_of(0, 10)
    source = reader(log, 20, 30)

    def later(_response: FetchResponse) -> None:
        log.clients[0].world.clock.advance(500)  # type: ignore[attr-defined]

    log.script = [later] * 100
    with pytest.raises(RangeLost, match="the log ends at 20") as caught:
        chunks(source)
    assert caught.value.available == (0, 20)
    assert len(log.requests) == 41, "as long as anything is retried: the watermark of a new leader may lag"


def test_an_open_transaction_is_no_loss() -> None:
    log = log_of(0, 10)

    def held_back(response: FetchResponse) -> None:
        partition_of(response).last_stable_offset = 0
        partition_of(response).records = None
        log.clients[0].world.clock.advance(500)  # type: ignore[attr-defined]

    log.script = [held_back] * 100
    with pytest.raises(TimedOut, match="a transaction has been open"):
        chunks(reader(log, read_committed=True))
    log.script = [held_back] * 3
    assert spans(reader(log, read_committed=True)) == [(0, 10), (10, 20)]


def test_a_topic_of_the_same_name_is_another() -> None:
    log = log_of(0)
    with pytest.raises(RangeLost, match="made anew") as caught:
        chunks(reader(log, topic_id=Uuid(b"another topic id")))
    assert caught.value.available is None
    assert not log.requests


def test_a_topic_that_is_made_anew_while_it_is_read() -> None:
    log = log_of(0, 10)
    source = reader(log)
    assert source.next_chunk() is not None
    log.script = [refused(ErrorCode.UNKNOWN_TOPIC_ID)]
    log.clients[0].metadata.topics["orders"] = topic_metadata(Uuid(b"another topic id"), leader=1)
    with pytest.raises(RangeLost, match="made anew"):
        chunks(source)


def test_a_topic_that_is_gone_is_given_some_time() -> None:
    log = log_of(0)
    log.script = [refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)] * 1000
    with pytest.raises(RangeLost, match="deleted") as caught:
        chunks(reader(log))
    assert caught.value.available is None
    assert 15_000 <= log.clients[0].now_ms() < 20_000


def test_an_outage_before_that_does_not_count() -> None:
    """Time without a connection does not count: a cluster that comes back may not know its topics at once."""
    log = log_of(0)
    client_failures = [ConnectionError("gone")] * 20
    log.script = [*client_failures, refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    source = reader(log)
    assert spans(source) == [(0, 10)]
    assert log.clients[0].now_ms() > 15_000


def test_a_replica_in_the_same_rack_is_read_and_left_when_it_has_nothing() -> None:
    log = log_of(0, 10)

    def nearer(response: FetchResponse) -> None:
        partition_of(response).preferred_read_replica = 2
        partition_of(response).records = None

    def lagging(response: FetchResponse) -> None:
        partition_of(response).records = None

    log.script = [nearer]
    source = reader(log, rack="here")
    assert spans(source) == [(0, 10), (10, 20)]
    assert log.nodes == [1, 2]
    for step in (lagging, refused(ErrorCode.OFFSET_OUT_OF_RANGE), refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)):
        log.nodes, log.script = [], [nearer, step]
        assert spans(reader(log, rack="here")) == [(0, 10), (10, 20)]
        assert log.nodes == [1, 2, 1]
        assert log.requests[-1].rack_id == ""


def test_throttling_is_obeyed_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    log = log_of(0, 10, 20)

    def throttled(response: FetchResponse) -> None:
        response.throttle_time_ms = 700

    log.script = [throttled, throttled]
    source = reader(log)
    with caplog.at_level(logging.WARNING, "tidelog.client"):
        assert source.next_chunk() is not None
        assert len(log.requests) == 1, "nothing is asked for ahead"
        assert spans(source) == [(10, 20), (20, 30)]
    assert log.clients[0].now_ms() == 1_400
    (told,) = caplog.messages
    assert "throttled by a quota, first for 700 ms" in told


def test_bytes_that_are_no_batches() -> None:
    log = log_of(0)
    for records, reason in ((b"x" * 30, "record batch at offset"), (plain(0)[:-1], "no whole batch")):

        def damaged(response: FetchResponse, records: bytes = records) -> None:
            partition_of(response).records = records

        log.script = [damaged]
        with pytest.raises(CorruptRecords, match=f"orders-3 from offset 0.*{reason}"):
            chunks(reader(log))


def test_batches_from_before_the_offset_are_no_progress() -> None:
    log = log_of(0, 10)

    def former(response: FetchResponse) -> None:
        partition_of(response).records = plain(0)

    log.script = [former]
    with pytest.raises(CorruptRecords, match="lies before it"):
        chunks(reader(log, 10))


def test_a_response_about_another_partition_is_not_believed() -> None:
    log = log_of(0)

    def other(response: FetchResponse) -> None:
        partition_of(response).partition_index = 2

    log.script = [other]
    assert spans(reader(log)) == [(0, 10)]
    assert log.nodes == [1, 1]
