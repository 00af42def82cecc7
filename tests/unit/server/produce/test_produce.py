"""Produce: each acks and version, and every refusal."""

import struct
from typing import Any

import pytest
from crc32c import crc32c
from tests.support.raw_connection import Raw, raw_request
from tests.support.recorded_frames import framed
from tests.support.serving import batch_of, create, fetch_values, produce, produced

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder
from tidelog.records.compression import CompressionType
from tidelog.sim.node_world import NodeWorld, SimClient

LENGTH_AT, CRC_AT, COUNT_AT = 8, 17, 57
OLDEST, NEWEST, FIRST_BY_ID = 3, 13, 13


def request(*topics: TopicProduceData, acks: int = -1, **kwargs: Any) -> ProduceRequest:
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=list(topics), **kwargs)


def one(topic: str, batch: Any, index: int = 0, topic_id: bytes | None = None) -> TopicProduceData:
    data = [PartitionProduceData(index=index, records=batch)]
    if topic_id is not None:
        return TopicProduceData(topic_id=Uuid(topic_id), partition_data=data)
    return TopicProduceData(name=topic, partition_data=data)


def with_crc(batch: memoryview) -> memoryview:
    struct.pack_into(">I", batch, CRC_AT, crc32c(batch[CRC_AT + 4 :]))
    return batch


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", range(OLDEST, NEWEST + 1))
def test_every_version_and_acks(client: SimClient, topic: str, version: int, acks: int) -> None:
    topic_id = create(client, topic)
    for base in (0, 2, 4):  # the second of a kind takes the quick path
        named = one(topic, batch_of(b"a", b"b"), topic_id=topic_id if version >= FIRST_BY_ID else None)
        response = client.ask(request(named, acks=acks), version)
        answer = response.responses[0].partition_responses[0]
        assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (ErrorCode.NONE, base, -1)
        assert answer.log_start_offset == (0 if version >= 5 else -1)
        assert answer.record_errors == []
    assert fetch_values(client, topic) == [b"a", b"b"] * 3


def test_acks_0_holds_nobody_up_however_many_there_are(client: SimClient, topic: str) -> None:
    """More requests than may be in flight arrive at once."""
    create(client, topic)
    for _ in range(1_500):
        client.send(request(one(topic, batch_of(b"x")), acks=0), 9, expect_response=False)
    assert client.ask(MetadataRequest(topics=[]), 9).error_code == ErrorCode.NONE
    assert produce(client, topic, b"last") == 1_500


def test_an_error_with_acks_0_ends_the_connection_and_frees_its_place(node: NodeWorld, client: SimClient) -> None:
    client.ask(MetadataRequest(topics=[]), 9)
    node.run(20)
    before = len(node.running.broker.connections)
    other = node.client()
    other.ask(MetadataRequest(topics=[]), 9)
    assert len(node.running.broker.connections) == before + 1
    other.send(request(one("absent", batch_of(b"x")), acks=0), 9, expect_response=False)
    node.wait_for(lambda: other.is_closed or None)
    assert len(node.running.broker.connections) == before


def test_log_append_time(client: SimClient, topic: str) -> None:
    create(client, topic, configs={"message.timestamp.type": "LogAppendTime"})
    assert produced(client, topic, batch_of(b"x")).log_append_time_ms > 1_000


def code_of(answer: Any) -> ErrorCode:
    assert (answer.base_offset, answer.log_append_time_ms) == (-1, -1)
    return ErrorCode(answer.error_code)


def test_what_is_not_there(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert code_of(produced(client, "absent", batch_of(b"x"))) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert code_of(produced(client, topic, batch_of(b"x"), partition=5)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_id_is_never_looked_up_by_name(client: SimClient, topic: str) -> None:
    topic_id = create(client, topic)
    unknown = one("", batch_of(b"x"), topic_id=bytes(15) + b"\x09")
    answer = client.ask(request(unknown), 13).responses[0]
    assert answer.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    missing = one("", batch_of(b"x"), index=4, topic_id=topic_id)
    answer = client.ask(request(missing), 13).responses[0]
    assert answer.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert bytes(answer.topic_id) == topic_id


@pytest.mark.parametrize("acks", [2, -2, 127])
def test_other_acks_than_there_are(client: SimClient, topic: str, acks: int) -> None:
    create(client, topic)
    assert code_of(produced(client, topic, batch_of(b"x"), acks=acks)) == ErrorCode.INVALID_REQUIRED_ACKS
    assert fetch_values(client, topic) == []


def test_one_partition_fails_and_the_others_do_not(client: SimClient, topic: str) -> None:
    create(client, topic, partitions=2)
    data = [PartitionProduceData(index=index, records=batch_of(b"x")) for index in (0, 7, 1)]
    response = client.ask(request(TopicProduceData(name=topic, partition_data=data)), 9)
    answers = {each.index: each.error_code for each in response.responses[0].partition_responses}
    assert answers == {0: ErrorCode.NONE, 1: ErrorCode.NONE, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_without_partitions_in_front_of_another(client: SimClient, topic: str) -> None:
    """A fuzzer found that the path which was remembered for the next request had the wrong topic."""
    create(client, topic)
    for base in range(2):
        response = client.ask(request(TopicProduceData(name="x", partition_data=[]), one(topic, batch_of(b"x"))), 9)
        assert [each.base_offset for each in response.responses[0].partition_responses] == [base]


@pytest.mark.parametrize("version", [8, 9])
def test_bytes_behind_a_request_are_passed_over(node: NodeWorld, topic: str, version: int) -> None:
    create(node.client(), topic)
    raw = Raw(node)
    good = framed(request(one(topic, batch_of(b"x"))), version)
    padded = struct.pack(">i", len(good)) + good[4:] + b"\0\0\0\0"
    for frame in (padded, padded, good, good, padded):
        raw.send(frame)
        assert raw.frame()
    assert fetch_values(node.client(), topic) == [b"x"] * 5


def test_nothing_to_write(client: SimClient, topic: str) -> None:
    create(client, topic)
    for records in (None, b""):
        assert code_of(produced(client, topic, records)) == ErrorCode.INVALID_RECORD
    assert client.ask(request(), 9).responses == []


def test_two_batches_for_one_partition(client: SimClient, topic: str) -> None:
    create(client, topic)
    both = bytes(batch_of(b"a")) + bytes(batch_of(b"b"))
    assert code_of(produced(client, topic, both)) == ErrorCode.INVALID_RECORD
    assert fetch_values(client, topic) == []


def test_a_wrong_checksum(client: SimClient, topic: str) -> None:
    create(client, topic)
    batch = batch_of(b"payload")
    batch[-3] ^= 1
    assert code_of(produced(client, topic, batch)) == ErrorCode.CORRUPT_MESSAGE
    assert fetch_values(client, topic) == []


@pytest.mark.parametrize("count", [0, 2, 1_000_000, -1])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.LZ4])
def test_a_count_that_lies(client: SimClient, topic: str, count: int, codec: CompressionType) -> None:
    create(client, topic)
    batch = batch_of(b"a", b"b", b"c", compression=codec)
    struct.pack_into(">i", batch, COUNT_AT, count)
    assert code_of(produced(client, topic, with_crc(batch))) in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
    assert fetch_values(client, topic) == []


def test_zstd_before_the_version_that_knows_it(client: SimClient, topic: str) -> None:
    create(client, topic)
    batch = batch_of(b"x", compression=CompressionType.ZSTD)
    answer = produced(client, topic, bytes(batch), version=6)
    assert code_of(answer) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produced(client, topic, batch, version=7).error_code == ErrorCode.NONE


def test_a_batch_that_is_too_large(client: SimClient, topic: str) -> None:
    create(client, topic, configs={"max.message.bytes": "1000"})
    assert code_of(produced(client, topic, batch_of(bytes(1_000)))) == ErrorCode.MESSAGE_TOO_LARGE
    assert produced(client, topic, batch_of(bytes(900))).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [7, 8, 9])
def test_a_keyless_record_on_a_compacted_topic_is_named_by_its_index(
    client: SimClient, topic: str, version: int
) -> None:
    create(client, topic, configs={"cleanup.policy": "compact"})
    builder = BatchBuilder()
    for key in (b"k", None, b"k", None):
        builder.append(1_000, key, b"v")
    answer = produced(client, topic, memoryview(bytearray(builder.build())), version=version)
    assert code_of(answer) == ErrorCode.INVALID_RECORD
    named = [each.batch_index for each in answer.record_errors]
    assert named == ([1, 3] if version >= 8 else [])
    assert bool(answer.error_message) == (version >= 8)


def idempotent(sequence: int, *values: bytes, producer_id: int = 77, epoch: int = 0) -> memoryview:
    return batch_of(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_a_duplicate_succeeds_with_its_first_offset(client: SimClient, topic: str) -> None:
    create(client, topic)
    for sequence in range(5):
        assert produced(client, topic, idempotent(sequence, b"x")).base_offset == sequence
    for sequence in range(5):
        again = produced(client, topic, idempotent(sequence, b"x"))
        assert (again.error_code, again.base_offset) == (ErrorCode.NONE, sequence)
    assert len(fetch_values(client, topic)) == 5


def test_sequences_and_epochs(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert produced(client, topic, idempotent(10, b"x")).error_code == ErrorCode.NONE  # unknown: may start anywhere
    assert produced(client, topic, idempotent(13, b"x")).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produced(client, topic, idempotent(11, b"x")).error_code == ErrorCode.NONE
    assert produced(client, topic, idempotent(5, b"x", epoch=1)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produced(client, topic, idempotent(0, b"x", epoch=1)).error_code == ErrorCode.NONE
    assert produced(client, topic, idempotent(12, b"x", epoch=0)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_client_does_not_write_to_the_clusters_own_topics(client: SimClient, node: NodeWorld) -> None:
    if "__consumer_offsets" not in node.running.broker.image.topics.by_name:
        create(client, "__consumer_offsets")
    answer = produced(client, "__consumer_offsets", batch_of(b"x", key=b"k"))
    assert code_of(answer) == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_too_few_in_sync_replicas(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"before")
    partition = next(
        p for p in node.running.broker.hosted.by_topic_partition.values() if p.topic_partition.topic == topic
    )
    partition.isr_size, partition.replica_count = 0, 3
    assert code_of(produced(client, topic, batch_of(b"x"))) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produced(client, topic, batch_of(b"x"), acks=1).error_code == ErrorCode.NONE


def test_a_batch_that_nobody_confirms_in_time(client: SimClient, topic: str) -> None:
    """The disk has to confirm the batch, because of `flush.messages=1`, which takes longer than a timeout of 0."""
    create(client, topic, configs={"flush.messages": "1"})
    impatient = ProduceRequest(acks=-1, timeout_ms=0, topic_data=[one(topic, batch_of(b"x"))])
    answer = client.ask(impatient, 9).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert produce(client, topic, b"y") == 1  # the batch was written all the same


@pytest.mark.parametrize("version", [0, 1, 2])
def test_versions_that_are_gone_are_refused_in_their_own_layout(node: NodeWorld, version: int) -> None:
    body = struct.pack(">hi", 1, 1_000) + struct.pack(">i", 1) + struct.pack(">h", 3) + b"old"
    body += struct.pack(">iii", 1, 6, 5) + b"12345"
    raw = Raw(node)
    raw.send(raw_request(0, version, body))
    expected = struct.pack(">ii", 77, 1) + struct.pack(">h", 3) + b"old" + struct.pack(">iihq", 1, 6, 35, -1)
    expected += struct.pack(">q", -1) if version == 2 else b""
    expected += struct.pack(">i", 0) if version >= 1 else b""
    assert raw.frame() == expected
