"""ListOffsets, the API that is most often implemented wrongly."""

from typing import Any

import pytest
from tests.support.preparing import IdleWorkers
from tests.support.serving import batch_of, create, produce, produced

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.sim.node_world import NodeWorld, SimClient

NEWEST = 11
LATEST, EARLIEST, MAX_TIMESTAMP, LOCAL, TIERED, PENDING = -1, -2, -3, -4, -5, -6
NOTHING = (ErrorCode.NONE, -1, -1, -1)


def ask_all(client: SimClient, topic: str, *asked: ListOffsetsPartition, version: int = NEWEST, **kwargs: Any) -> Any:
    topics = [ListOffsetsTopic(name=topic, partitions=list(asked))]
    response = client.ask(ListOffsetsRequest(**{"replica_id": -1, "topics": topics, **kwargs}), version)
    return response.topics[0].partitions


def ask(client: SimClient, topic: str, timestamp: int, version: int = NEWEST, **kwargs: Any) -> tuple[int, ...]:
    epoch = kwargs.pop("epoch", -1)
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=epoch)
    found = ask_all(client, topic, asked, version=version, **kwargs)[0]
    return found.error_code, found.offset, found.timestamp, found.leader_epoch


@pytest.fixture
def written(client: SimClient, topic: str) -> str:
    """Write records with timestamps that go up and down, over batches and within one: 1000, 5000, 2000 | 3000, 3000 |
    4000."""
    create(client, topic)
    for times in ((1_000, 5_000, 2_000), (3_000, 3_000), (4_000,)):
        builder = BatchBuilder()
        for time in times:
            builder.append(time, None, b"x")
        assert produced(client, topic, memoryview(bytearray(builder.build()))).error_code == ErrorCode.NONE
    return topic


@pytest.mark.parametrize(
    ("timestamp", "offset", "found_at"),
    [(0, 0, 1_000), (1_000, 0, 1_000), (1_001, 1, 5_000), (5_000, 1, 5_000), (4_500, 1, 5_000)],
)
def test_the_first_record_that_is_not_earlier(
    client: SimClient, written: str, timestamp: int, offset: int, found_at: int
) -> None:
    assert ask(client, written, timestamp) == (ErrorCode.NONE, offset, found_at, 0)


def test_nothing_is_late_enough(client: SimClient, written: str) -> None:
    assert ask(client, written, 5_001) == NOTHING


def test_within_a_compressed_batch(client: SimClient, topic: str) -> None:
    create(client, topic)
    batch = batch_of(b"a", b"b", b"c", first_timestamp=100, compression=CompressionType.ZSTD)
    assert produced(client, topic, batch).error_code == ErrorCode.NONE
    assert ask(client, topic, 101) == (ErrorCode.NONE, 1, 101, 0)


def heavy_times(codec: CompressionType) -> memoryview:
    """Return a batch of the timestamps 100, 300 and 200 that inflates to more than a turn has time for."""
    builder = BatchBuilder(options=BatchOptions(compression=codec), limit_bytes=1 << 30)
    for time in (100, 300, 200):
        builder.append(time, None, bytes(2 << 20))
    return memoryview(bytearray(builder.build()))


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD])
def test_within_a_batch_that_takes_longer_than_a_turn(
    node: NodeWorld, client: SimClient, topic: str, codec: CompressionType
) -> None:
    create(client, topic)
    assert produced(client, topic, heavy_times(codec)).error_code == ErrorCode.NONE
    workers = IdleWorkers(node)
    asked = [ListOffsetsPartition(partition_index=0, timestamp=150, current_leader_epoch=-1)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)])
    client.send(request, NEWEST)
    workers.wait_for()
    assert ask(node.client(), topic, LATEST) == (ErrorCode.NONE, 3, -1, 0), "others are answered meanwhile"
    assert client.poll() is None
    workers.let_go()
    found = client.receive().topics[0].partitions[0]
    assert (found.error_code, found.offset, found.timestamp) == (ErrorCode.NONE, 1, 300)
    assert ask(client, topic, MAX_TIMESTAMP) == (ErrorCode.NONE, 1, 300, 0)
    assert ask(client, topic, 301) == NOTHING


def test_a_worker_that_dies_looking_costs_that_answer(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic)
    assert produced(client, topic, heavy_times(CompressionType.ZSTD)).error_code == ErrorCode.NONE
    workers = IdleWorkers(node)
    asked = [ListOffsetsPartition(partition_index=0, timestamp=110, current_leader_epoch=-1)]
    client.send(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)]), NEWEST)
    workers.wait_for()
    for _ in range(2):
        node.batch_workers.kill(node.batch_workers.under_way[0])
        node.run(5)
    assert client.receive().topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    workers.let_go()
    assert ask(client, topic, 110) == (ErrorCode.NONE, 1, 300, 0)


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_the_special_ones_in_every_version_that_knows_them(client: SimClient, written: str, version: int) -> None:
    epoch = 0 if version >= 4 else -1
    unknown = (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1)
    assert ask(client, written, LATEST, version) == (ErrorCode.NONE, 6, -1, epoch)
    assert ask(client, written, EARLIEST, version) == (ErrorCode.NONE, 0, -1, epoch)
    assert ask(client, written, MAX_TIMESTAMP, version) == ((0, 1, 5_000, 0) if version >= 7 else unknown)
    assert ask(client, written, LOCAL, version) == ((0, 0, -1, 0) if version >= 8 else unknown)
    assert ask(client, written, TIERED, version) == (NOTHING if version >= 9 else unknown)
    assert ask(client, written, PENDING, version) == (NOTHING if version >= 11 else unknown)
    assert ask(client, written, -7, version) == unknown


def test_an_empty_log(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert ask(client, topic, LATEST)[:2] == ask(client, topic, EARLIEST)[:2] == (ErrorCode.NONE, 0)
    assert ask(client, topic, MAX_TIMESTAMP) == NOTHING
    assert ask(client, topic, 0) == NOTHING


def test_errors_of_each_partition(client: SimClient, topic: str) -> None:
    create(client, topic)
    asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in (0, 9)]
    assert [each.error_code for each in ask_all(client, topic, *asked)] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert ask(client, "absent", LATEST)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_partition_that_is_named_twice_is_refused_each_time(client: SimClient, topic: str) -> None:
    create(client, topic, partitions=2)
    asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in (0, 0, 1)]
    codes = [each.error_code for each in ask_all(client, topic, *asked)]
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST, ErrorCode.NONE]


def test_a_client_with_another_idea_of_the_leaders_epoch(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    assert ask(client, topic, LATEST, epoch=0)[0] == ErrorCode.NONE
    assert ask(client, topic, LATEST, epoch=1)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.fixture
def behind(client: SimClient, node: NodeWorld, topic: str) -> str:
    """Write five records, of which consumers may see three."""
    create(client, topic)
    for index in range(5):
        produce(client, topic, b"%d" % index)
    log = next(
        p.log for p in node.running.broker.hosted.by_topic_partition.values() if p.topic_partition.topic == topic
    )
    log.high_watermark = 3
    return topic


def test_latest_is_what_the_reader_may_see(client: SimClient, behind: str) -> None:
    assert ask(client, behind, LATEST)[1] == 3
    assert ask(client, behind, LATEST, replica_id=-2)[1] == 5  # a tool that compares replicas
    assert ask(client, behind, LATEST, replica_id=2)[1] == 5


def test_a_record_that_can_not_be_seen_yet_is_not_found(client: SimClient, topic: str, node: NodeWorld) -> None:
    create(client, topic)
    for index in range(5):
        produced(client, topic, batch_of(b"x", first_timestamp=1_000 * index))
    partition = next(
        p for p in node.running.broker.hosted.by_topic_partition.values() if p.topic_partition.topic == topic
    )
    partition.log.high_watermark = 3
    assert ask(client, topic, 2_000)[1] == 2
    assert ask(client, topic, 3_000) == NOTHING
    assert ask(client, topic, MAX_TIMESTAMP) == NOTHING


@pytest.mark.parametrize(
    ("version", "code"), [(5, ErrorCode.OFFSET_NOT_AVAILABLE), (4, ErrorCode.LEADER_NOT_AVAILABLE)]
)
def test_a_new_leader_that_has_not_caught_up_says_so_and_does_not_go_back(
    client: SimClient, node: NodeWorld, topic: str, version: int, code: ErrorCode
) -> None:
    create(client, topic)
    for _ in range(3):
        produce(client, topic, b"x")
    partition = next(
        p for p in node.running.broker.hosted.by_topic_partition.values() if p.topic_partition.topic == topic
    )
    partition.log.assign_epoch(4, 3)
    partition.leader_epoch, partition.log.high_watermark = 4, 1
    assert ask(client, topic, LATEST, version)[0] == code
    assert ask(client, topic, EARLIEST, version)[:2] == (ErrorCode.NONE, 0)
    assert ask(client, topic, LATEST, version, replica_id=2)[:2] == (ErrorCode.NONE, 3)
