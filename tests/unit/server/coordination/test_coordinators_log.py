"""A partition as a machine's log: staged messages become batches, and reading them back gives the same messages."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.serving import create, fetch_values, produced

from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.requests import KeyValue, LogMessage, TransactionalKeyValue, TransactionMarker
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull
from tidelog.ports.files import OpenMode
from tidelog.records.batch import RecordBatch, batches
from tidelog.records.builder import BatchBuilder
from tidelog.records.compression import CompressionType
from tidelog.records.header import TimestampType
from tidelog.server.coordination.batches import Draft, encode_record
from tidelog.server.coordination.coordinator_log import CoordinatorLog, record_bytes_max
from tidelog.server.coordination.loading import LoadFailed, Loading
from tidelog.server.hosting.partition import Partition
from tidelog.server.replicated import AppendRefused
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld, SimClient
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.reading import FetchIsolation, read

VERSION = 3
PRODUCER, EPOCH = 7, 0
LONG = "x" * 30_000  # longer than the page that the header is in


class Written:
    """A partition of an ordinary topic, and a coordinator's log on it, without a coordinator."""

    def __init__(self, node: NodeWorld, topic: str, compression: CompressionType = CompressionType.NONE) -> None:
        self.node = node
        broker = node.running.broker
        found = broker.leader_of(TopicPartition(topic, 0))
        assert isinstance(found, Partition)
        self.partition = found
        self.log = CoordinatorLog(broker, found, lambda: compression)
        self.unknown: list[int] = []

    def append(self, *messages: LogMessage, is_atomic: bool = True) -> int:
        """Append the messages; return how often the append paused."""
        records = [(message, VERSION) for message in messages]
        return sum(1 for _ in self.log.append_steps(records, self.node.clock.wall_ms(), is_atomic=is_atomic))

    def commit(self) -> bool:
        return self.log.commit(0, self.node.clock.wall_ms())

    def batches(self) -> list[RecordBatch]:
        return list(batches(read(self.partition.log, 0, 1 << 24, FetchIsolation.LOG_END).read_all()))

    def slices(self) -> Iterator[list[LogMessage]]:
        return Loading(self.node.running.broker, self.partition, GROUP_RECORDS, self.unknown.append).slices()

    def messages(self) -> list[LogMessage]:
        return [message for slice_ in self.slices() for message in slice_]


def key(partition: int) -> OffsetCommitKey:
    return OffsetCommitKey(group="g", topic="t", partition=partition)


def value(metadata: str = "") -> OffsetCommitValue:
    return OffsetCommitValue(offset=5, metadata=metadata, commit_timestamp=9)


def message(partition: int, metadata: str = "") -> KeyValue:
    return KeyValue(key(partition), value(metadata))


def staged(partition: int) -> TransactionalKeyValue:
    return TransactionalKeyValue(PRODUCER, EPOCH, key(partition), value())


def marker(*, epoch: int = EPOCH, coordinator_epoch: int = 3) -> TransactionMarker:
    return TransactionMarker(PRODUCER, epoch, True, coordinator_epoch, 0)


@pytest.fixture
def written(node: NodeWorld, client: SimClient, topic: str) -> Written:
    create(client, topic)
    return Written(node, topic)


def test_decisions_of_a_turn_are_one_batch(written: Written) -> None:
    written.append(message(1))
    written.append(message(2), KeyValue(key(1), None))
    assert (written.log.end_offset, written.log.high_watermark, written.batches()) == (3, 0, [])
    assert written.commit()
    assert (written.log.end_offset, written.log.high_watermark) == (3, 3)
    assert [each.header.records_count for each in written.batches()] == [3]
    assert written.messages() == [message(1), message(2), KeyValue(key(1), None)]
    assert written.commit(), "with nothing to write"
    assert written.log.end_offset == 3


def test_transactions_and_their_ends_are_batches_of_their_own_in_order(written: Written) -> None:
    written.partition.log.producers.start_verification(0, PRODUCER, EPOCH, -1, supports_epoch_bump=False)
    written.append(message(1))
    written.append(staged(2), staged(3))
    written.append(message(4))
    assert written.log.end_offset == 4
    written.append(marker())
    assert written.log.end_offset == 5
    assert written.commit()
    flags = [(each.header.is_transactional, each.header.is_control) for each in written.batches()]
    assert flags == [(False, False), (True, False), (False, False), (True, True)]
    assert [each.header.base_sequence for each in written.batches()] == [-1, 0, -1, -1], "as Kafka writes them"
    assert written.messages() == [message(1), staged(2), staged(3), message(4), marker()]
    assert written.partition.log.last_stable_offset == 5


def test_a_producers_batch_that_nobody_verified_is_refused_and_nothing_is_lost(written: Written) -> None:
    written.append(message(1))
    with pytest.raises(AppendRefused) as refused:
        written.append(staged(2))
    assert refused.value.code is ErrorCode.INVALID_TXN_STATE
    assert written.commit()
    assert written.messages() == [message(1)]


def test_a_fenced_marker_is_refused_with_its_code(written: Written) -> None:
    written.append(marker(epoch=4))
    with pytest.raises(AppendRefused) as refused:
        written.append(marker(epoch=3))
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    with pytest.raises(AppendRefused) as refused:
        written.append(marker(epoch=5, coordinator_epoch=2))
    assert refused.value.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_batches_stay_within_the_topics_limit(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, configs={"max.message.bytes": "2000"})
    written = Written(node, topic)
    wanted = [message(index, "x" * 300) for index in range(30)]
    with pytest.raises(AppendRefused):
        written.append(*wanted)
    written.append(*wanted[:4])
    written.append(*wanted[4:8])
    written.append(*wanted[8:], is_atomic=False)
    assert written.commit()
    assert max(each.header.size_bytes for each in written.batches()) <= 2_000
    assert written.batches()[0].header.records_count == 4, "a decision is not cut"
    assert written.messages() == wanted
    with pytest.raises(AppendRefused):
        written.append(message(1, "x" * 2_000), is_atomic=False)


def test_the_largest_record_that_a_machine_may_make_fits(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, configs={"max.message.bytes": "2000"})
    written = Written(node, topic)
    key_bytes, fixed_bytes = 2 + 2 + 1 + 2 + 1 + 4, 2 + 8 + 4 + 2 + 8
    largest = message(1, "x" * (record_bytes_max(written.partition) - key_bytes - fixed_bytes))
    written.append(largest)
    with pytest.raises(AppendRefused):
        written.append(KeyValue(largest.key, value(largest.value.metadata + "x")))
    assert written.commit()
    assert written.messages() == [largest]


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD])
def test_compressed(node: NodeWorld, client: SimClient, topic: str, codec: CompressionType) -> None:
    create(client, topic)
    written = Written(node, topic, codec)
    wanted = [message(index, "x" * 200) for index in range(600)]
    assert written.append(*wanted, is_atomic=False) == 2, "a generator gives way"
    assert written.commit()
    written.append(message(1))
    assert written.commit()
    assert [each.compression for each in written.batches()] == [codec, CompressionType.NONE], "where it pays"
    assert [len(slice_) for slice_ in written.slices()] == [250, 250, 100, 1]
    assert written.messages() == [*wanted, message(1)]


def test_a_write_that_fails_is_told_and_leaves_nothing(written: Written) -> None:
    faults = written.node.fs.disk("/disk").faults
    written.append(message(1))
    faults.fail(Op.WRITE, fault=DiskFull)
    assert not written.commit()
    written.append(message(2))
    assert not written.commit(), "while the cut is on its way to the disk"
    written.node.wait_for(lambda: not written.partition.log.is_unsettled or None)
    written.append(message(3))
    assert written.commit()
    assert written.messages() == [message(3)]


def test_whoever_waits_for_data_of_the_topic_is_woken(written: Written, client: SimClient) -> None:
    written.append(message(1))
    assert written.commit()
    assert written.partition in written.node.running.broker.turn.moved
    assert len(fetch_values(client, written.partition.topic_partition.topic)) == 1


# Records of other writers


def other(*records: tuple[bytes | None, bytes | None]) -> memoryview:
    builder = BatchBuilder()
    for record in records:
        builder.append(1_000, *record)
    return memoryview(bytearray(builder.build()))


def put(written: Written, client: SimClient, *records: tuple[Any, Any]) -> None:
    assert produced(client, written.partition.topic_partition.topic, other(*records)).error_code == 0


def test_types_of_a_newer_release_are_passed_over_and_told_once(written: Written, client: SimClient) -> None:
    unknown = (b"\x03\xe7later", b"\x00\x00")
    put(written, client, unknown, unknown)
    written.append(message(1))
    written.commit()
    put(written, client, unknown)
    assert written.messages() == [message(1)]
    assert written.unknown == [999]


@pytest.mark.parametrize(
    "damage",
    [
        (b"\x00\x01\x00\x09g", b"\x00\x03"),  # a key that ends too early
        (b"\x00\x02\x00\x01g", b"\x00\x63"),  # an unknown version of the value
        (b"\x00", b""),
        (None, b"x"),
    ],
)
def test_what_can_not_be_read_is_damage(written: Written, client: SimClient, damage: tuple[Any, Any]) -> None:
    written.append(message(1))
    written.commit()
    put(written, client, damage)
    with pytest.raises(LoadFailed):
        written.messages()


def test_flipped_bits_are_damage(written: Written) -> None:
    written.append(message(1))
    written.commit()
    path = f"{written.partition.log.directory}/00000000000000000000.log"
    file = written.node.fs.open(path, OpenMode.WRITE)
    file.write_at(70, [b"\xff"])
    with pytest.raises(LoadFailed, match="checksum"):
        written.messages()


def test_a_batch_that_is_made_in_its_place_is_the_one_that_the_log_would_have_made(
    node: NodeWorld, client: SimClient, topic: str
) -> None:
    for name in (topic, f"{topic}-checked"):
        create(client, name)
    written, checked, wall_ms = Written(node, topic), Written(node, f"{topic}-checked"), node.clock.wall_ms()
    for messages in ([message(1)], [message(2, "m" * 300), KeyValue(key(1), None)], list(map(message, range(300)))):
        written.append(*messages)
        assert written.commit()
        draft = Draft()
        for each in messages:
            draft.add(encode_record(each.key, each.value, VERSION))
        batch = bytearray(draft.build(wall_ms, CompressionType.NONE))
        log, epoch = checked.partition.log, checked.partition.leader_epoch
        assert isinstance(log.append_as_leader(memoryview(batch), 0, len(batch), epoch, wall_ms), Append)
        node.running.broker.logs.commit([log], wall_ms)
    assert len(written.batches()) == 3
    first, second = (read(each.partition.log, 0, 1 << 24, FetchIsolation.LOG_END) for each in (written, checked))
    assert first.read_all() == second.read_all()


@pytest.mark.parametrize(
    ("name", "wanted"), [("compression.type", "zstd"), ("message.timestamp.type", "LogAppendTime")]
)
def test_a_topic_that_wants_its_batches_otherwise_gets_them_so(
    node: NodeWorld, client: SimClient, topic: str, name: str, wanted: str
) -> None:
    create(client, topic, configs={name: wanted})
    written = Written(node, topic)
    written.append(message(1, "m" * 300))
    assert written.commit()
    (header,) = (each.header for each in written.batches())
    assert (header.compression_id == CompressionType.ZSTD) == (wanted == "zstd")
    assert (header.timestamp_type is TimestampType.LOG_APPEND_TIME) == (wanted == "LogAppendTime")
    assert written.messages() == [message(1, "m" * 300)]


def test_pages_that_are_dropped_as_fast_as_they_are_warmed_are_read_all_the_same() -> None:
    """The log gives up asking for such pages to be warmed, and reads them all the same. A page that the disk can not
    read then fails, instead of being asked for without end."""
    node = NodeWorld(seed=13)
    create(node.client(), "t")
    written = Written(node, "t")
    written.append(message(1, LONG))
    written.commit()
    log, disk = written.partition.log, node.fs.disk("/disk")
    log.flush.now(log)
    node.run(100)
    found, rounds = [], 0
    disk.evict()
    for messages in written.slices():
        found += messages
        rounds += 1
        assert rounds < 1_000, "it is waited for without end"
        node.run(10)
        disk.evict()
    assert found == [message(1, LONG)]
    assert rounds > 1, "a helper was asked first"
