"""A client and a node in the simulator: the requests that any client sends first."""

import pytest

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder
from tidelog.sim.node_world import NodeWorld, SimClient


@pytest.fixture(scope="module")
def world() -> NodeWorld:
    return NodeWorld(seed=3)


def create(client: SimClient, name: str, partitions: int = 1) -> None:
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
    response = client.ask(CreateTopicsRequest(topics=[topic]), 7)
    assert response.topics[0].error_code == ErrorCode.NONE


def batch_of(*values: bytes) -> memoryview:
    builder = BatchBuilder()
    for value in values:
        builder.append(1_000, None, value)
    return memoryview(bytearray(builder.build()))


def produce(client: SimClient, topic: str, *values: bytes, acks: int = -1, version: int = 9) -> int:
    data = PartitionProduceData(index=0, records=batch_of(*values))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    response = client.ask(ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics), version)
    answer = response.responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.NONE
    return int(answer.base_offset)


def fetch(client: SimClient, topic: str, offset: int = 0, max_wait_ms: int = 100) -> list[bytes]:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic=topic, partitions=[partition])]
    response = client.ask(FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=topics), 12)
    data = response.responses[0].partitions[0]
    assert data.error_code == ErrorCode.NONE
    return [record.value or b"" for batch in batches(bytes(data.records)) for record in batch.records()]


def test_versions_are_advertised_and_produce_from_zero(world: NodeWorld) -> None:
    request = ApiVersionsRequest(client_software_name="sim", client_software_version="1")
    response = world.client().ask(request, 4)
    ranges = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    assert ranges[0] == (0, 13)
    assert ranges[22] == (0, 6)


def test_records_come_back_in_order(world: NodeWorld) -> None:
    client = world.client()
    create(client, "order")
    assert [produce(client, "order", b"a", b"b"), produce(client, "order", b"c")] == [0, 2]
    assert fetch(client, "order") == [b"a", b"b", b"c"]
    assert fetch(client, "order", 2) == [b"c"]


def test_a_long_poll_is_woken_by_a_produce(world: NodeWorld) -> None:
    reader, writer = world.client(), world.client()
    create(reader, "poll")
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic="poll", partitions=[partition])]
    reader.send(FetchRequest(max_wait_ms=50_000, min_bytes=1, topics=topics), 12)
    world.run(50)
    assert reader.poll() is None
    produce(writer, "poll", b"news")
    assert reader.receive().responses[0].partitions[0].high_watermark == 1


def test_a_missing_topic_is_made_by_asking_for_it(world: NodeWorld) -> None:
    client = world.client()
    request = MetadataRequest(topics=[MetadataRequestTopic(name="auto")])
    assert client.ask(request, 12).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.run(100)
    topic = client.ask(request, 12).topics[0]
    assert (topic.error_code, topic.partitions[0].leader_id) == (ErrorCode.NONE, 1)


def test_acks_0_is_not_answered_and_holds_nobody_up(world: NodeWorld) -> None:
    client = world.client()
    create(client, "fire")
    data = PartitionProduceData(index=0, records=batch_of(b"x"))
    topics = [TopicProduceData(name="fire", partition_data=[data])]
    client.send(ProduceRequest(acks=0, timeout_ms=1_000, topic_data=topics), 9, expect_response=False)
    assert fetch(client, "fire", max_wait_ms=1_000) == [b"x"]


def test_nothing_acknowledged_is_lost_when_the_process_dies() -> None:
    world = NodeWorld(seed=5)
    client = world.client()
    create(client, "kept")
    for index in range(20):
        produce(client, "kept", b"%d" % index)
    world.kill()
    world.start()
    assert fetch(world.client(), "kept") == [b"%d" % index for index in range(20)]


def test_with_flush_messages_1_nothing_acknowledged_is_lost_when_the_power_goes() -> None:
    world = NodeWorld(seed=6, overrides={"log.flush.interval.messages": "1"})
    client = world.client()
    create(client, "kept")
    for index in range(20):
        produce(client, "kept", b"%d" % index)
    world.lose_power()
    world.start()
    assert fetch(world.client(), "kept") == [b"%d" % index for index in range(20)]


def test_a_stop_in_order_leaves_a_clean_directory() -> None:
    world = NodeWorld(seed=8)
    client = world.client()
    create(client, "kept", 3)
    produce(client, "kept", b"x")
    world.stop()
    assert ".kafka_cleanshutdown" in world.fs.list_directory("/disk/a")
    world.start()
    assert world.running.progress.bytes_total == 0
    assert fetch(world.client(), "kept") == [b"x"]
