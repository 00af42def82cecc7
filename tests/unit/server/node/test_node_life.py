"""A node's start, idleness, reconfiguration and stop, in the simulator."""

import logging

import pytest
from tests.sim.cleaned_broker import stored
from tests.unit.server.requests.test_first_contact import batch_of, create, fetch, produce

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import LockHeld
from tidelog.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder
from tidelog.server.node.files import NotFormatted
from tidelog.server.node.node import NodeFailed, Phase
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld, SimClient
from tidelog.storage.checkpoints.partition_metadata import read_partition_metadata
from tidelog.storage.names import DirectoryState, marked_directory

BROKER, GROUP = 4, 32
T0 = TopicPartition("t", 0)
TWO_DISKS = {"/disk": DiskSettings(), "/other": DiskSettings()}
TWO_DIRECTORIES = {"log.dirs": "/disk/a,/other/b"}


def two_disks(seed: int = 1, **overrides: str) -> NodeWorld:
    named = {name.replace("_", "."): value for name, value in overrides.items()}
    return NodeWorld(seed, {**TWO_DIRECTORIES, **named}, disks=TWO_DISKS)


def set_broker(client: SimClient, name: str, value: str, broker: str = "") -> None:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name=broker, configs=[config])
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer.responses[0].error_message


def set_group(client: SimClient, group: str, name: str, value: str) -> None:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=[config])
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer.responses[0].error_message


def test_a_setting_of_a_group_without_effect_is_told_once_and_again_at_the_next_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = NodeWorld(seed=5)
    client = world.client()

    def told() -> list[str]:
        lines = [each.getMessage() for each in caplog.records if "has no effect" in each.getMessage()]
        caplog.clear()
        return lines

    with caplog.at_level(logging.WARNING):
        set_group(client, "g", "share.session.timeout.ms", "50000")
        set_group(client, "h", "share.session.timeout.ms", "50000")
        set_group(client, "h", "consumer.session.timeout.ms", "50000")
        lines = told()
        assert len(lines) == 1
        assert lines[0].startswith("share.session.timeout.ms of group g is set and has no effect: Share groups")
        world.stop()
        world.start()
        assert told() == lines


def move(client: SimClient, path: str) -> None:
    directory = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name="t", partitions=[0])])
    answer = client.ask(AlterReplicaLogDirsRequest(dirs=[directory]), 2)
    assert answer.results[0].partitions[0].error_code == ErrorCode.NONE


def try_produce(client: SimClient, topic: str, value: bytes) -> ErrorCode:
    data = PartitionProduceData(index=0, records=batch_of(value))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    response = client.ask(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=topics), 9)
    return ErrorCode(response.responses[0].partition_responses[0].error_code)


def test_an_idle_node_rests() -> None:
    world = NodeWorld(seed=1)
    world.run(500)
    before = world.turns
    world.run(10_000)
    assert 0 < world.turns - before < 50


@pytest.mark.parametrize("phase", [Phase.ELECTING, Phase.LOADING, Phase.JOINING])
def test_a_stop_before_it_serves(phase: Phase) -> None:
    world = NodeWorld(seed=2)
    create(world.client(), "t")
    produce(world.client(), "t", b"x")
    world.kill()
    world.start(until_running=False)
    world.wait_for(lambda: world.running.phase is phase or None)
    world.stop()
    world.start()
    assert fetch(world.client(), "t") == [b"x"]


def test_a_stop_during_the_start_is_timed_from_the_signal(caplog: pytest.LogCaptureFixture) -> None:
    world = NodeWorld(seed=2)
    world.kill()
    world.start(until_running=False)
    world.clock.advance(60_000)
    with caplog.at_level(logging.INFO):
        world.stop()
    lines = [each for each in caplog.records if "phase" in getattr(each, "fields", {})]
    assert [each.fields["phase"] for each in lines] == ["stopping", "stopped"]  # type: ignore[attr-defined]
    assert lines[1].fields["took_s"] < 10  # type: ignore[attr-defined]


def test_waiting_for_a_slow_disk_does_not_spin() -> None:
    world = NodeWorld(seed=3, overrides={"log.flush.interval.messages": "1"})
    client = world.client()
    create(client, "t")
    world.fs.disk("/disk").settings.sync_ms_min = world.fs.disk("/disk").settings.sync_ms_max = 400
    data = PartitionProduceData(index=0, records=batch_of(b"x"))
    topics = [TopicProduceData(name="t", partition_data=[data])]
    client.send(ProduceRequest(acks=-1, timeout_ms=9_000, topic_data=topics), 9)
    world.run(20)
    before = world.turns
    world.running.begin_stop()
    world.run(390)
    assert world.turns - before < 20
    assert client.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE, "settled first"
    world.wait_for(lambda: world.running.phase is Phase.STOPPED or None)


def test_a_long_poll_is_answered_when_the_node_stops() -> None:
    world = NodeWorld(seed=4)
    client = world.client()
    create(client, "t")
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
    topics = [FetchTopic(topic="t", partitions=[partition])]
    client.send(FetchRequest(max_wait_ms=50_000, min_bytes=1, topics=topics), 12)
    world.run(30)
    world.running.begin_stop()
    assert client.receive().responses[0].partitions[0].error_code == ErrorCode.NONE
    world.wait_for(lambda: world.running.phase is Phase.STOPPED or None)
    assert world.clock.monotonic_ms() < 5_000
    world.run(20)
    assert client.is_closed


def test_a_second_start_on_the_same_directory_is_refused_by_name() -> None:
    world = NodeWorld(seed=5)
    with pytest.raises(LockHeld, match=r"/disk/a/\.lock: locked by sim"):
        world.start()


def test_a_log_of_a_topic_that_is_not_known_is_set_aside_and_kept() -> None:
    world = NodeWorld(seed=6)
    client = world.client()
    create(client, "t")
    produce(client, "t", b"precious")
    metadata = read_partition_metadata(world.fs, "/disk/a/t-0")
    assert metadata is not None
    world.kill()
    world.fs.rename("/disk/a/t-0", "/disk/a/u-0")  # a topic that the metadata do not have
    world.start()
    world.run(200)
    strays = [name for name in world.fs.list_directory("/disk/a") if name.endswith(DirectoryState.STRAY.value)]
    assert [name.partition(".")[0] for name in strays] == ["u-0"]
    assert "00000000000000000000.log" in world.fs.list_directory(f"/disk/a/{strays[0]}")
    assert fetch(world.client(), "t") == []


def test_a_topic_that_was_deleted_while_the_node_was_down_is_set_aside() -> None:
    world = NodeWorld(seed=7)
    create(world.client(), "t")
    produce(world.client(), "t", b"x")
    world.kill()
    saved = marked_directory("t", 0, "0" * 32, DirectoryState.FUTURE)
    world.fs.rename("/disk/a/t-0", f"/disk/a/{saved}")
    world.start()
    world.client().ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    create(world.client(), "t")
    world.run(100)
    world.kill()
    world.fs.rename("/disk/a/t-0", "/disk/gone")
    world.fs.rename(f"/disk/a/{saved}", "/disk/a/t-0")
    world.start()
    strays = [name for name in world.fs.list_directory("/disk/a") if name.endswith(DirectoryState.STRAY.value)]
    assert len(strays) == 1
    assert fetch(world.client(), "t") == [], "the topic of today has none of the records of yesterday's"


def test_a_moved_log_takes_the_appends() -> None:
    world = two_disks(seed=8)
    client = world.client()
    create(client, "t")
    produce(client, "t", b"before")
    log = world.running.broker.hosted.by_topic_partition[T0].log
    target = "/other/b" if log.directory.startswith("/disk") else "/disk/a"
    move(client, target)
    for index in range(50):
        produce(client, "t", b"%d" % index)
    world.wait_for(lambda: not world.running.broker.logs.moves.is_active or None)
    produce(client, "t", b"after")
    assert world.running.broker.hosted.by_topic_partition[T0].log.directory == f"{target}/t-0"
    world.kill()
    world.start()
    assert fetch(world.client(), "t") == [b"before", *(b"%d" % index for index in range(50)), b"after"]


def test_the_controller_learns_where_a_replica_lies() -> None:
    world = two_disks(seed=9)
    client = world.client()
    create(client, "t")
    world.run(100)
    node = world.running

    def recorded() -> Uuid:
        return node.broker.image.topics.by_name["t"].partitions[0].directory_of(1)

    source = node.broker.hosted.by_topic_partition[T0].log.directory.removesuffix("/t-0")
    target = next(path for path in node.files.directory_ids if path != source)
    assert recorded() == node.files.directory_ids[source]
    move(client, target)
    world.wait_for(lambda: not node.broker.logs.moves.is_active or None)
    assert recorded() == node.files.directory_ids[target]


def test_a_failing_directory_goes_alone() -> None:
    world = two_disks(seed=10)
    client = world.client()
    for name in ("t", "u"):
        create(client, name)
        produce(client, name, b"x")
    logs = world.running.broker.hosted.by_topic_partition
    lost = next(topic_partition for topic_partition, each in logs.items() if each.log.directory.startswith("/other"))
    kept = next(topic_partition for topic_partition in logs if topic_partition != lost)
    world.fs.disk("/other").faults.fail(Op.WRITE, times=None)
    assert try_produce(client, lost.topic, b"y") is ErrorCode.KAFKA_STORAGE_ERROR
    world.run(200)
    assert try_produce(client, lost.topic, b"y") is ErrorCode.KAFKA_STORAGE_ERROR
    assert try_produce(client, kept.topic, b"y") is ErrorCode.NONE
    image = world.running.broker.image
    assert image.topics.by_name[lost.topic].partitions[0].leader == -1, "the controller was told"
    world.kill()
    world.fs.disk("/other").faults.dead = True
    world.start()
    assert try_produce(world.client(), lost.topic, b"y") is ErrorCode.KAFKA_STORAGE_ERROR, "no new log in its place"
    world.kill()
    world.fs.disk("/other").faults.heal()
    world.start()
    assert fetch(world.client(), lost.topic) == [b"x"]


def test_with_the_last_directory_the_node_goes() -> None:
    world = NodeWorld(seed=11)
    client = world.client()
    create(client, "t")
    world.fs.disk("/disk").faults.dead = True
    with pytest.raises(NodeFailed):
        try_produce(client, "t", b"x")


def test_settings_of_all_brokers_and_of_one_apply_at_once() -> None:
    world = two_disks(seed=12)
    client, broker = world.client(), world.running.broker
    create(client, "t")
    produce(client, "t", b"x")
    set_broker(client, "log.cleaner.threads", "3", "1")
    set_broker(client, "log.retention.ms", "12345000")
    set_broker(client, "cordoned.log.dirs", "/other/b", "1")
    set_broker(client, "producer.id.expiration.ms", "77777")
    world.run(50)
    assert world.running.cleaner is not None
    assert world.running.cleaner.config.threads == 3
    assert broker.hosted.by_topic_partition[T0].log.config.retention_ms == 12345000
    assert broker.logs.cordoned == ["/other/b"]
    assert world.running.files.context.producer_config.expiration_ms == 77777
    cordoned = broker.image.brokers[1].cordoned_log_dirs
    assert list(cordoned or ()) == [world.running.files.directory_ids["/other/b"]], "the controller was told"


def test_a_reload_takes_what_may_change_and_leaves_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(seed=13)
    told: list[str] = []
    create(world.client(), "t")
    world.overrides |= {"log.retention.ms": "777000", "broker.rack": "elsewhere", "num.partitons": "3"}
    monkeypatch.setattr(world.running.broker.events, "restart_needed", told.append)
    assert world.running.config.reload(world.config()) == ["log.retention.ms"]
    assert told == ["broker.rack"], "what nobody knows takes effect at no start"
    world.run(20)
    broker = world.running.broker
    assert broker.hosted.by_topic_partition[T0].log.config.retention_ms == 777000
    assert "broker.rack" not in broker.config.layers.static


def test_a_compacted_topic_is_cleaned() -> None:
    settings = {
        "log.cleanup.policy": "compact",
        "log.cleaner.min.cleanable.ratio": "0.01",
        "log.cleaner.backoff.ms": "50",
        "log.cleaner.dedupe.buffer.size": "2097152",
        "log.flush.interval.messages": "1",
        "log.flush.offset.checkpoint.interval.ms": "50",
    }
    world = NodeWorld(seed=14, overrides=settings)
    client = world.client()
    configs = [CreatableTopicConfig(name="internal.segment.bytes", value="600")]
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=configs)
    client.ask(CreateTopicsRequest(topics=[topic]), 7)
    for index in range(60):
        builder = BatchBuilder()
        builder.append(1_000, b"key", b"%d" % index)
        data = PartitionProduceData(index=0, records=memoryview(bytearray(builder.build())))
        topics = [TopicProduceData(name="t", partition_data=[data])]
        client.ask(ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=topics), 9)
    world.run(600)
    values = [each.value for each in stored(world.running.broker.hosted.by_topic_partition[T0].log)]
    assert values[-1] == b"59"
    assert len(values) < 30, "earlier values of the key are gone"
    world.stop()
    assert ".kafka_cleanshutdown" in world.fs.list_directory("/disk/a")


def test_a_start_that_is_refused_leaves_the_marks_of_the_clean_stop() -> None:
    world = two_disks(seed=15)
    create(world.client(), "t")
    world.stop()
    world.overrides["log.dirs"] = "/disk/a,/other/b,/other/new"
    with pytest.raises(NotFormatted, match="/other/new"):
        world.start()
    for directory in ("/disk/a", "/other/b"):
        assert ".kafka_cleanshutdown" in world.fs.list_directory(directory)
    world.node = None
    world.overrides["log.dirs"] = "/disk/a,/other/b"
    world.start()
    assert all(each.was_clean for each in world.running.files.logs.directories.values())
    assert ".kafka_cleanshutdown" not in world.fs.list_directory("/disk/a")


def test_a_dynamic_setting_without_effect_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    world = NodeWorld(seed=16)
    client = world.client()
    with caplog.at_level(logging.WARNING):
        set_broker(client, "num.io.threads", "4")
        set_broker(client, "log.cleaner.threads", "2")
        set_broker(client, "num.io.threads", "5", "1")
        world.run(10)
    lines = [each.getMessage() for each in caplog.records if "num.io.threads" in each.getMessage()]
    assert len(lines) == 1
    assert lines[0].startswith("num.io.threads is set and has no effect: One event loop handles requests")


def test_a_cleaning_without_a_worker_is_heard_of_in_the_next_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(5)
    world.run(2_000)
    node = world.running
    assert node.deadline_ms is None or node.deadline_ms > node.broker.turn.monotonic_ms
    assert node.cleaner is not None
    monkeypatch.setattr(type(node.cleaner), "has_news", True)
    assert node.deadline_ms == node.broker.turn.monotonic_ms
