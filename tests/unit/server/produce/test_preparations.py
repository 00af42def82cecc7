"""Batches that take longer than a turn: workers prepare them, in order, whatever happens meanwhile."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from tests.support.preparing import (
    HEAVY_CONFIG,
    IdleWorkers,
    heavy_batch,
    heavy_value,
    produce_request,
)
from tests.support.serving import batch_of, create, fetch_values, produce, produced, values_in
from tests.support.transactional import SMALL, SimProducer, last_stable, transactional_world

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.server.hosting.partition import Partition
from tidelog.server.node.node import Phase
from tidelog.server.produce import preparations
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld, SimClient

_names = count()


@pytest.fixture(scope="module")
def shared() -> NodeWorld:
    return transactional_world(31)


@pytest.fixture
def world(shared: NodeWorld) -> Iterator[NodeWorld]:
    broker = shared.running.broker
    before = broker.dispatch.bugs
    yield shared
    assert broker.dispatch.bugs == before
    assert broker.transactions.held == {}
    assert len(broker.preparations) == 0


@pytest.fixture
def client(world: NodeWorld) -> SimClient:
    return world.client()


@pytest.fixture
def topic(client: SimClient) -> str:
    name = f"h{next(_names)}"
    create(client, name, partitions=2, configs=HEAVY_CONFIG)
    return name


@pytest.fixture
def workers(world: NodeWorld) -> Iterator[IdleWorkers]:
    idle = IdleWorkers(world)
    yield idle
    idle.let_go()


def hosted(world: NodeWorld, topic: str, index: int = 0) -> Partition:
    return world.running.broker.hosted.by_topic_partition[TopicPartition(topic, index)]


def stored(client: SimClient, topic: str) -> list[Any]:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=100, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=[wanted])])
    return list(batches(bytes(client.ask(request, 12).responses[0].partitions[0].records)))


def codes(response: Any) -> list[int]:
    return [each.error_code for each in response.responses[0].partition_responses]


def names(values: list[bytes]) -> list[bytes]:
    return [value.rstrip(b".") for value in values]


def alter(client: SimClient, topic: str, name: str, value: str) -> None:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=[config])
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE


# Order


def test_a_heavy_batch_is_compressed_by_a_worker(client: SimClient, topic: str, workers: IdleWorkers) -> None:
    client.send(produce_request(topic, (0, heavy_batch(b"a", b"b"))), 9)
    workers.wait_for()
    workers.let_go()
    answer = client.receive().responses[0].partition_responses[0]
    assert (answer.error_code, answer.base_offset) == (ErrorCode.NONE, 0)
    (batch,) = stored(client, topic)
    assert batch.compression is CompressionType.ZSTD
    assert [each.value for each in batch.records()] == [heavy_value(b"a"), heavy_value(b"b")]


def test_a_light_one_is_not(client: SimClient, topic: str, workers: IdleWorkers) -> None:
    assert produce(client, topic, b"x") == 0


def test_others_are_answered_meanwhile(world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers) -> None:
    client.send(produce_request(topic, (0, heavy_batch(b"heavy"))), 9)
    workers.wait_for()
    other = world.client()
    assert produce(other, topic, b"1") == 0
    assert fetch_values(other, topic) == [b"1"]
    assert client.poll() is None
    workers.let_go()
    assert client.receive().responses[0].partition_responses[0].base_offset == 1


@pytest.mark.parametrize("has_path", [False, True], ids=["at first", "behind quick ones"])
def test_nothing_of_the_connection_overtakes(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers, has_path: bool
) -> None:
    ids: dict[str, Any] = {"producer_id": 900 + next(_names), "producer_epoch": 0}
    first = 0
    if has_path:
        for first in range(1, 4):
            produced(client, topic, batch_of(b"%d" % first, base_sequence=first - 1, **ids))
    for index in range(5):
        make = heavy_batch if index % 2 == 0 else batch_of
        client.send(produce_request(topic, (0, make(b"n%d" % index, base_sequence=first + index, **ids))), 9)
    workers.wait_for()
    world.run(20)
    assert client.poll() is None
    workers.let_go()
    answers = [client.receive().responses[0].partition_responses[0] for _ in range(5)]
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, first + index) for index in range(5)]
    assert names(fetch_values(client, topic, first)) == [b"n0", b"n1", b"n2", b"n3", b"n4"]


def test_a_request_for_several_partitions(client: SimClient, topic: str, workers: IdleWorkers) -> None:
    parts = [
        (0, batch_of(b"a")),
        (1, heavy_batch(b"b")),
        (0, heavy_batch(b"c")),
        (1, batch_of(b"d")),
        (7, batch_of(b"e")),
    ]
    client.send(produce_request(topic, *parts), 9)
    workers.wait_for()
    workers.let_go()
    assert codes(client.receive()) == [0, 0, 0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert names(fetch_values(client, topic)) == [b"a", b"c"]
    assert names(fetch_values(client, topic, partition=1)) == [b"b", b"d"]


def test_a_request_that_fills_the_turn_goes_on_in_the_next() -> None:
    world = NodeWorld(seed=5, look_ns=4_000_000)
    client = world.client()
    create(client, "t", partitions=40)
    before = world.turns
    client.send(produce_request("t", *[(index, batch_of(b"%d" % index)) for index in range(40)]), 9)
    client.send(produce_request("t", (3, batch_of(b"later"))), 9)
    assert codes(client.receive()) == [0] * 40
    assert world.turns - before > 5
    assert codes(client.receive()) == [0]
    assert fetch_values(client, "t", partition=3) == [b"3", b"later"]


def test_what_nobody_waits_for_is_appended_too(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers
) -> None:
    """The client sends with acks=0 and leaves: it gets no answer, but the batches are appended."""
    other = world.client()
    other.send(produce_request(topic, (0, heavy_batch(b"a")), acks=0), 9, expect_response=False)
    other.send(produce_request(topic, (0, batch_of(b"b")), acks=0), 9, expect_response=False)
    workers.wait_for()
    world.run(10)
    other.close()
    world.run(10)
    workers.let_go()
    world.wait_for(lambda: hosted(world, topic).log.log_end_offset == 2 or None)
    assert names(fetch_values(client, topic)) == [b"a", b"b"]


def test_a_batch_twice_is_there_once(client: SimClient, topic: str) -> None:
    ids = {"producer_id": 900 + next(_names), "producer_epoch": 0, "base_sequence": 0}
    answers = [produced(client, topic, heavy_batch(b"a", **ids)) for _ in range(2)]
    assert [(each.error_code, each.base_offset) for each in answers] == [(0, 0), (0, 0)]
    assert names(fetch_values(client, topic)) == [b"a"]


# Events while a batch is prepared


def send_heavy(client: SimClient, topic: str, workers: IdleWorkers, **options: Any) -> None:
    client.send(produce_request(topic, (0, heavy_batch(b"a", **options))), 9)
    workers.wait_for()


def test_the_topic_is_deleted(world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers) -> None:
    send_heavy(client, topic, workers)
    other = world.client()
    other.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000), 5)
    world.wait_for(lambda: TopicPartition(topic, 0) not in world.running.broker.hosted.by_topic_partition or None)
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_the_topic_is_made_anew_with_other_settings(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers
) -> None:
    send_heavy(client, topic, workers)
    other = world.client()
    other.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000), 5)
    world.wait_for(lambda: TopicPartition(topic, 0) not in world.running.broker.hosted.by_topic_partition or None)
    create(other, topic, configs={"compression.type": "gzip"})
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.NONE]
    assert [batch.compression for batch in stored(client, topic)] == [CompressionType.GZIP]


def test_the_topic_is_configured(world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers) -> None:
    send_heavy(client, topic, workers)
    before = hosted(world, topic).log.rules
    alter(world.client(), topic, "compression.zstd.level", "20")
    world.wait_for(lambda: hosted(world, topic).log.rules is not before or None)
    alter(world.client(), topic, "max.message.bytes", "100")
    world.wait_for(lambda: hosted(world, topic).log.rules.max_message_bytes == 100 or None)
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.MESSAGE_TOO_LARGE], "it is held to what the topic asks for by now"


def test_the_leadership_is_lost(world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers) -> None:
    send_heavy(client, topic, workers)
    partition = hosted(world, topic)
    leader_id, partition.leader_id = partition.leader_id, -1
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    partition.leader_id = leader_id
    assert partition.log.log_end_offset == 0


def test_the_log_directory_fails() -> None:
    world = NodeWorld(seed=8, overrides={"log.dirs": "/disk/a,/disk/b"})
    client = world.client()
    create(client, "t", configs=HEAVY_CONFIG)
    workers = IdleWorkers(world)
    send_heavy(client, "t", workers)
    log = hosted(world, "t").log
    world.fs.disk("/disk").faults.fail(Op.WRITE, log.directory)
    assert codes(world.client().ask(produce_request("t", (0, batch_of(b"x"))), 9)) == [ErrorCode.KAFKA_STORAGE_ERROR]
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert log.log_end_offset == 0


def test_the_time_under_log_append_time_is_that_of_the_append(
    world: NodeWorld, client: SimClient, workers: IdleWorkers
) -> None:
    create(client, "stamped", configs={**HEAVY_CONFIG, "message.timestamp.type": "LogAppendTime"})
    send_heavy(client, "stamped", workers)
    sent_ms = world.clock.wall_ms()
    world.run(500)
    workers.let_go()
    answer = client.receive().responses[0].partition_responses[0]
    assert answer.log_append_time_ms >= sent_ms + 500
    (batch,) = stored(client, "stamped")
    batch.check_crc()
    assert [each.timestamp for each in batch.records()] == [answer.log_append_time_ms]


@pytest.mark.parametrize("is_v2", [False, True])
def test_the_transaction_is_aborted(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers, is_v2: bool
) -> None:
    """A batch that is ready after the end of its transaction must not open another, which nobody would ever end."""
    one = SimProducer(world, f"vid{next(_names)}", is_v2=is_v2).init()
    one.write((topic, 0))
    batch = one.batch((topic, 0), heavy_value(b"late"))
    one.client.send(produce_request(topic, (0, batch), transactional_id=one.transactional_id), 12 if is_v2 else 9)
    workers.wait_for()
    two = SimProducer(world, one.transactional_id, is_v2=is_v2).init()
    assert two.producer_epoch > one.producer_epoch
    workers.let_go()
    (code,) = codes(one.client.receive())
    assert code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE)
    stable, high_watermark = last_stable(client, (topic, 0))
    assert stable == high_watermark, "no transaction is left open"


def test_a_transaction_with_heavy_batches(world: NodeWorld, client: SimClient, topic: str) -> None:
    one = SimProducer(world, f"vid{next(_names)}").init()
    for name in (b"a", b"b"):
        assert one.ask_produce((topic, 0), heavy_value(name)).error_code == ErrorCode.NONE
    one.end()
    stable, high_watermark = last_stable(client, (topic, 0))
    assert stable == high_watermark == 3


# Workers


def test_a_worker_that_dies_is_tried_once_more(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers
) -> None:
    send_heavy(client, topic, workers)
    world.batch_workers.kill(world.batch_workers.under_way[0])
    world.run(5)
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.NONE]


def test_a_batch_that_kills_its_workers_is_refused(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers
) -> None:
    send_heavy(client, topic, workers)
    for _ in range(2):
        world.batch_workers.kill(world.batch_workers.under_way[0])
        world.run(5)
    assert codes(client.receive()) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    workers.let_go()
    assert codes(client.ask(produce_request(topic, (0, heavy_batch(b"b"))), 9)) == [ErrorCode.NONE]


def test_a_worker_that_does_not_answer_is_killed_and_the_batch_tried_once_more(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparations, "WORK_MS", 1_000)
    send_heavy(client, topic, workers)
    (hung,) = world.batch_workers.under_way
    world.run(1_300)
    (next_one,) = world.batch_workers.under_way
    assert next_one != hung
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.NONE]
    assert names(fetch_values(client, topic)) == [b"a"]


def test_a_batch_that_hangs_every_worker_is_refused_and_the_next_is_served(
    world: NodeWorld, client: SimClient, topic: str, workers: IdleWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparations, "WORK_MS", 1_000)
    send_heavy(client, topic, workers)
    assert codes(client.receive()) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert not world.batch_workers.under_way
    workers.let_go()
    assert codes(client.ask(produce_request(topic, (0, heavy_batch(b"b"))), 9)) == [ErrorCode.NONE]


def test_no_worker_can_be_started_for_a_while(world: NodeWorld, client: SimClient, topic: str) -> None:
    world.batch_workers.refusals = 5
    began_ms = world.clock.monotonic_ms()
    assert codes(client.ask(produce_request(topic, (0, heavy_batch(b"a"))), 9)) == [ErrorCode.NONE]
    pauses_ms = 5 * preparations.PAUSE_MS
    assert world.batch_workers.refusals == 0
    assert pauses_ms <= world.clock.monotonic_ms() - began_ms < pauses_ms + preparations.PAUSE_MS, "heard of at once"


def test_there_are_two_workers_and_a_request_has_one(world: NodeWorld, topic: str, workers: IdleWorkers) -> None:
    many = [(index % 2, heavy_batch(b"%d" % index)) for index in range(6)]
    clients = [world.client() for _ in range(3)]
    for each in clients:
        each.send(produce_request(topic, *many), 9)
    workers.wait_for(3)
    assert len(world.batch_workers.under_way) == 2
    workers.let_go()
    for each in clients:
        assert codes(each.receive()) == [0] * 6


def test_what_is_refused_there_is_told_as_if_it_was_here(client: SimClient) -> None:
    create(client, "keyed", configs={**HEAVY_CONFIG, "cleanup.policy": "compact"})
    answer = produced(client, "keyed", heavy_batch(b"a", b"b"))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in answer.record_errors] == [0, 1]
    assert "2 records without a key" in (answer.error_message or "")


# Bombs


@pytest.mark.parametrize(
    "codec", [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD]
)
def test_a_batch_that_inflates_to_much_is_looked_at_by_a_worker(
    world: NodeWorld, client: SimClient, workers: IdleWorkers, codec: CompressionType
) -> None:
    name = f"b{next(_names)}"
    create(client, name)
    client.send(produce_request(name, (0, bomb(codec, 5 << 20))), 9)
    workers.wait_for()
    workers.let_go()
    assert codes(client.receive()) == [ErrorCode.NONE]
    (batch,) = stored(client, name)
    assert (batch.compression, len(next(iter(batch.records())).value)) == (codec, 5 << 20)


def bomb(codec: CompressionType, size_bytes: int) -> memoryview:
    builder = BatchBuilder(options=BatchOptions(compression=codec))
    builder.append(1_000, None, bytes(size_bytes))
    return memoryview(bytearray(builder.build()))


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD])
def test_a_batch_that_inflates_without_end_is_refused_by_name(client: SimClient, codec: CompressionType) -> None:
    name = f"b{next(_names)}"
    create(client, name)
    answer = produced(client, name, bomb(codec, 65 << 20))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "67108864" in (answer.error_message or "")


# Memory and shutdown


def test_what_is_away_counts_as_memory_of_requests() -> None:
    world = NodeWorld(
        seed=6, overrides={**SMALL, "queued.max.request.bytes": "1000000", "socket.request.max.bytes": "1000000"}
    )
    client = world.client()
    create(client, "t", configs=HEAVY_CONFIG)
    workers = IdleWorkers(world)
    send_heavy(client, "t", workers)
    client.send(produce_request("t", (0, heavy_batch(b"b"))), 9)
    world.run(20)
    memory = world.running.broker.request_memory
    assert memory is not None
    assert memory.used_bytes > 20_000
    workers.let_go()
    assert [codes(client.receive()) for _ in range(2)] == [[0], [0]]
    assert memory.used_bytes == 0


@pytest.mark.parametrize("lets_go", [True, False])
def test_a_stop_waits_for_it_but_not_for_ever(lets_go: bool) -> None:
    world = NodeWorld(seed=7, overrides=SMALL)
    client = world.client()
    create(client, "t", configs=HEAVY_CONFIG)
    workers = IdleWorkers(world)
    send_heavy(client, "t", workers)
    world.running.begin_stop()
    world.run(100)
    if lets_go:
        workers.let_go()
        assert codes(client.receive()) == [ErrorCode.NONE]
    world.wait_for(lambda: world.running.phase is Phase.STOPPED or None)
    world.kill()
    world.start()
    assert values_in(b"".join(bytes(each.view) for each in stored(world.client(), "t"))) == (
        [heavy_value(b"a")] if lets_go else []
    )
