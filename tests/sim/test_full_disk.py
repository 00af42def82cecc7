"""A node on a disk without a byte left: it starts, serves reads, deletes, and writes again once there is room.

The simulated disk is crueller than most: when it is full it takes no new name either.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from tests.support.coordinating import ONE_NODE, commit, fetched, group_world, until_loaded
from tests.support.serving import batch_of, create, fetch_values, produce, produced
from tests.support.transactional import SMALL, SimProducer, with_coordinators

from tidelog.coordinator.transaction.metadata import record_of
from tidelog.coordinator.transaction.states import TransactionState
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition
from tidelog.ports.errors import DiskFull, NotFound
from tidelog.ports.files import OpenMode
from tidelog.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.server.metadata_log.ballast import BALLAST_BYTES, LOW_BYTES
from tidelog.server.node.node import Phase
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld, SimClient
from tidelog.storage.directories.failed_sync import SYNC_MARK, is_marked_intact, mark_failed

CAPACITY = 16 << 20
FILLER = "/disk/filler"
QUICK = {
    **ONE_NODE,
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "50",
    "log.retention.ms": "-1",
    "log.flush.offset.checkpoint.interval.ms": "200",
}
SEGMENTS = {"internal.segment.bytes": "2000"}
EVERY_END = pytest.mark.parametrize("end", [NodeWorld.stop, NodeWorld.kill, NodeWorld.lose_power])


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)


def small_world(seed: int = 1, **overrides: str) -> NodeWorld:
    named = {name.replace("_", "."): value for name, value in overrides.items()}
    world = NodeWorld(seed, {**QUICK, **named}, disks={"/disk": DiskSettings(CAPACITY)})
    world.run(1_500)  # until the ballast is allocated
    return world


def fill(world: NodeWorld, leave_bytes: int = 0) -> None:
    """Take the rest of the disk, but for `leave_bytes`, as another program might."""
    file = world.fs.open(FILLER, OpenMode.CREATE)
    spare = world.fs.space("/disk").usable_bytes - leave_bytes
    assert spare >= 0
    file.write_at(file.size(), [bytes(spare)])
    file.sync()
    file.close()
    world.fs.sync_directory("/disk")


def make_room(world: NodeWorld) -> None:
    world.fs.remove_file(FILLER)
    world.fs.sync_directory("/disk")


def keep_full(world: NodeWorld) -> None:
    """Take whatever was freed, as another program might."""
    if world.fs.space("/disk").usable_bytes:
        fill(world)


def phase_of(world: NodeWorld) -> Phase:
    return world.running.phase


def is_healthy(world: NodeWorld) -> bool:
    return all(each.is_online for each in world.running.broker.logs.directories.values())


def code_of_produce(client: SimClient, topic: str, size: int = 100) -> ErrorCode:
    return ErrorCode(produced(client, topic, batch_of(b"x" * size)).error_code)


def until_written(world: NodeWorld, topic: str) -> None:
    client = world.client()
    for _ in range(50):
        if code_of_produce(client, topic) is ErrorCode.NONE:
            return
        world.run(200)
    raise AssertionError("it does not take writes again")


@EVERY_END
def test_a_node_starts_on_a_full_disk_and_serves_what_it_has(end: Callable[[NodeWorld], None]) -> None:
    world = small_world(log_flush_interval_messages="1")
    client = world.client()
    create(client, "t", configs=SEGMENTS)
    for number in range(60):
        produce(client, "t", b"%d" % number * 40)
    fill(world)
    end(world)
    world.start()
    assert is_healthy(world)
    client = world.client()
    assert fetch_values(client, "t")[0] == b"0" * 40
    assert code_of_produce(client, "t", 1_500) is ErrorCode.KAFKA_STORAGE_ERROR
    make_room(world)
    until_written(world, "t")
    world.run(12_000)
    assert world.fs.stat("/disk/a/__cluster_metadata-0/ballast").size == BALLAST_BYTES, "taken again"


def without_ballast(end: Callable[[NodeWorld], None]) -> NodeWorld:
    """Return a world whose node was ended, and whose disk another program has filled since, the ballast's space
    included."""
    world = small_world(log_flush_interval_messages="1")
    client = world.client()
    create(client, "t", configs=SEGMENTS)
    for number in range(9):
        produce(client, "t", b"%d" % number * 40)
    end(world)
    with suppress(NotFound):  # a power loss may have taken it already
        world.fs.remove_file("/disk/a/__cluster_metadata-0/ballast")
    fill(world)
    return world


@EVERY_END
def test_a_node_without_room_and_ballast_serves_reads_until_there_is_some(
    end: Callable[[NodeWorld], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tidelog")
    world = without_ballast(end)
    world.start(until_running=False)
    world.run(5_000)
    assert phase_of(world) is Phase.JOINING, "it neither leads nor gives up"
    told = [each.getMessage() for each in caplog.records if "serves reads only, of 1 partitions" in each.getMessage()]
    assert len(told) == 1
    client = world.client()
    metadata = client.ask(MetadataRequest(topics=None), 12)
    assert [each.node_id for each in metadata.brokers] == [1]
    assert [(each.name, each.partitions[0].leader_id) for each in metadata.topics] == [("t", 1)]
    assert fetch_values(client, "t") == [b"%d" % number * 40 for number in range(9)]
    for _ in range(3):
        assert code_of_produce(client, "t") is ErrorCode.KAFKA_STORAGE_ERROR
    world.run(2_000)
    assert world.fs.space("/disk").usable_bytes < 1_000
    make_room(world)
    world.wait_for(lambda: phase_of(world) is Phase.RUNNING or None)
    until_written(world, "t")
    assert fetch_values(world.client(), "t")[:9] == [b"%d" % number * 40 for number in range(9)]
    create(world.client(), "new")
    world.run(12_000)
    assert world.fs.stat("/disk/a/__cluster_metadata-0/ballast").size == BALLAST_BYTES, "taken again"
    world.lose_power()
    world.start()
    assert fetch_values(world.client(), "t")[:9] == [b"%d" % number * 40 for number in range(9)]


@EVERY_END
def test_a_node_with_room_for_some_of_its_start_serves_reads_and_takes_no_writes(
    end: Callable[[NodeWorld], None],
) -> None:
    """There may be room for the node's vote, say, or for the record that begins its epoch, but not for its
    registration."""
    phases = []
    for leave_bytes in range(0, 1_300, 100):
        world = without_ballast(end)
        keep_free(world, leave_bytes)
        world.start(until_running=False)
        for _ in range(40):
            world.run(100)
            keep_free(world, leave_bytes)
        phases.append(phase_of(world))
        assert len(fetch_values(world.client(), "t")) == 9, f"{leave_bytes} bytes"
        if phases[-1] is not Phase.RUNNING:
            assert code_of_produce(world.client(), "t", 1) is ErrorCode.KAFKA_STORAGE_ERROR, f"{leave_bytes} bytes"
        make_room(world)
        world.wait_for(lambda world=world: phase_of(world) is Phase.RUNNING or None)
        until_written(world, "t")
    assert set(phases) == {Phase.JOINING, Phase.RUNNING}


def keep_free(world: NodeWorld, free_bytes: int) -> None:
    """Leave exactly `free_bytes` free: another program takes the rest, and what becomes free."""
    file = world.fs.open(FILLER, OpenMode.WRITE)
    spare = world.fs.space("/disk").usable_bytes - free_bytes
    if spare >= 0:
        file.write_at(file.size(), [bytes(spare)])
    else:
        file.truncate(file.size() + spare)
    file.sync()
    file.close()


def test_a_node_without_room_and_ballast_says_so_once_a_minute_and_can_be_stopped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "tidelog")
    world = without_ballast(NodeWorld.kill)
    world.start(until_running=False)
    world.run(5_000)
    told = [each.getMessage() for each in caplog.records if "metadata log has no room" in each.getMessage()]
    assert len(told) == 1, "once a minute"
    assert told[0].startswith("the metadata log has no room: /disk/a/__cluster_metadata-0/quorum-state")
    assert "free 4 MiB on /disk/a," in told[0]
    turns = world.turns
    world.run(60_000)
    assert len([each for each in caplog.records if "metadata log has no room" in each.getMessage()]) == 2
    assert world.turns - turns < 60 * 100, "nor does it spin"
    world.stop()
    make_room(world)
    world.start()
    assert len(fetch_values(world.client(), "t")) == 9


def test_retention_of_a_node_without_room_and_ballast_makes_the_room_that_it_needs() -> None:
    world = small_world()
    client = world.client()
    create(client, "t", configs={**SEGMENTS, "retention.bytes": "2000"})
    for number in range(40):
        produce(client, "t", b"%d" % number * 900)
    assert len(world.fs.list_directory("/disk/a/t-0")) > 40
    world.kill()
    world.fs.remove_file("/disk/a/__cluster_metadata-0/ballast")
    fill(world)
    world.start()
    assert world.fs.stat(FILLER).size > 0
    assert is_healthy(world)
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="t", topic_id=ZERO_UUID)], timeout_ms=1_000)
    assert world.client().ask(asked, 6).responses[0].error_code == ErrorCode.NONE


def test_topics_are_deleted_on_a_full_disk_and_that_makes_room() -> None:
    world = small_world()
    client = world.client()
    for name in ("big", "small"):
        create(client, name)
    for _ in range(40):
        produce(client, "big", b"x" * 50_000)
    fill(world)
    assert code_of_produce(client, "small") is ErrorCode.KAFKA_STORAGE_ERROR
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="big", topic_id=ZERO_UUID)], timeout_ms=1_000)
    assert client.ask(asked, 6).responses[0].error_code == ErrorCode.NONE
    world.run(1_000)
    assert world.fs.space("/disk").usable_bytes > 1_000_000
    until_written(world, "small")
    assert is_healthy(world)


def test_a_metadata_record_that_can_not_be_taken_back_is_taken_back_later() -> None:
    world = small_world()
    client = world.client()
    create(client, "t")
    path, faults = "/disk/a/__cluster_metadata-0/00000000000000000000.log", world.fs.disk("/disk").faults
    faults.fail(Op.TRUNCATE, path, fault=DiskFull, times=None)
    fill(world)
    written = world.fs.stat(path).size
    faults.fail(Op.WRITE, path, fault=DiskFull, times=None)
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="t", topic_id=ZERO_UUID)], timeout_ms=1_000)
    assert client.ask(asked, 6).responses[0].error_code != ErrorCode.NONE
    world.run(3_000)
    assert world.running.control.fault is None
    make_room(world)
    faults.heal()
    world.run(5_000)
    assert client.ask(asked, 6).responses[0].error_code == ErrorCode.NONE
    assert world.fs.stat(path).size > written
    world.kill()
    world.start()
    create(world.client(), "t")


SLOW = {"log_retention_check_interval_ms": "300000", "log_segment_delete_delay_ms": "60000"}


def deleted_files(world: NodeWorld) -> list[str]:
    """Return the names of deleted partitions, and of deleted segments of the topic `aged`."""
    names = [name for name in world.fs.list_directory("/disk/a") if name.endswith("-delete")]
    return names + [name for name in world.fs.list_directory("/disk/a/aged-0") if name.endswith(".deleted")]


def world_with_deleted_files() -> NodeWorld:
    """Return a world with a deleted topic and deleted segments, whose files wait for the end of their delay."""
    world = small_world(1, **SLOW)
    client = world.client()
    create(client, "aged", configs={**SEGMENTS, "retention.bytes": "2000"})
    create(client, "big")
    for _ in range(10):
        produce(client, "aged", b"a" * 900)
        produce(client, "big", b"x" * 50_000)
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="big", topic_id=ZERO_UUID)], timeout_ms=1_000)
    assert client.ask(asked, 6).responses[0].error_code == ErrorCode.NONE
    world.running.broker.logs.begin_retention(world.running.broker.turn.wall_ms)
    world.run(2_000)
    assert len(deleted_files(world)) > 5
    return world


def test_what_is_deleted_goes_after_its_own_delay_whenever_retention_is_due() -> None:
    world = world_with_deleted_files()
    world.run(50_000)
    assert len(deleted_files(world)) > 5, "a reader has its time"
    world.run(25_000)
    assert deleted_files(world) == []


@pytest.mark.parametrize("leave_bytes", [0, 1_000])
def test_what_is_deleted_goes_at_once_from_a_disk_that_is_short_of_room(leave_bytes: int) -> None:
    world = world_with_deleted_files()
    fill(world, leave_bytes=leave_bytes)
    assert code_of_produce(world.client(), "aged", 1_500) is ErrorCode.KAFKA_STORAGE_ERROR
    world.run(3_000)
    assert deleted_files(world) == []
    assert world.fs.space("/disk").usable_bytes > 400_000
    assert is_healthy(world)


def test_a_full_disk_takes_no_new_topics_but_what_makes_room() -> None:
    world = small_world()
    client = world.client()
    create(client, "t")
    produce(client, "t", b"x")
    fill(world)
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 7).topics[0]
    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "the disk of /disk/a/__cluster_metadata-0 is full: 0 bytes are free" in answer.error_message
    more = CreatePartitionsTopic(name="t", count=2, assignments=None)
    wanted = CreatePartitionsRequest(topics=[more], timeout_ms=1_000, validate_only=False)
    assert client.ask(wanted, 2).results[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert alter(client, "t", "max.message.bytes", "2000") is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.fs.stat("/disk/a/__cluster_metadata-0/ballast").size == BALLAST_BYTES, "nothing was spent on it"
    assert alter(client, "t", "retention.ms", "1000") is ErrorCode.NONE
    assert client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 7).topics[0].error_code != ErrorCode.NONE
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="t", topic_id=ZERO_UUID)], timeout_ms=1_000)
    assert client.ask(asked, 6).responses[0].error_code == ErrorCode.NONE
    make_room(world)
    create(client, "new")
    until_written(world, "new")


def test_producer_ids_are_not_bought_with_the_ballast() -> None:
    world = small_world()
    client = world.client()
    create(client, "t")
    fill(world)
    asked = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000)
    for _ in range(3):
        assert client.ask(asked, 4).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "which producers retry"
    assert world.fs.stat("/disk/a/__cluster_metadata-0/ballast").size == BALLAST_BYTES
    make_room(world)
    assert client.ask(asked, 4).error_code == ErrorCode.NONE


def alter(client: SimClient, topic: str, name: str, value: str) -> ErrorCode:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=topic, configs=[config])
    asked = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    return ErrorCode(client.ask(asked, 1).responses[0].error_code)


def test_a_disk_below_its_reserve_says_so_once_and_when_it_has_room_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tidelog")

    def told(part: str) -> list[str]:
        return [each.getMessage() for each in caplog.records if part in each.getMessage()]

    world = small_world(1, log_dir_reserved_bytes=str(4 << 20))
    client = world.client()
    create(client, "t")
    assert told("short of room") == []
    fill(world, leave_bytes=3 << 20)
    world.run(5_000)
    (line,) = told("short of room")
    assert "3.0 MiB free on /disk/a is below log.dir.reserved.bytes (4.0 MiB)" in line
    topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    assert client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 7).topics[0].error_code == ErrorCode.NONE
    world.run(1_000)
    (line,) = told("could not be made or opened")
    assert line.startswith("new-0: ")
    assert "free on /disk/a is below log.dir.reserved.bytes" in line
    world.stop()
    world.start(until_running=False)
    world.run(2_000)
    assert len(told("short of room")) == 2, "a start says it too"
    assert told("has room again") == []
    make_room(world)
    world.run(25_000)
    assert told("has room again") == ["/disk/a has room again, and takes writes"]
    until_written(world, "new")


def test_retention_and_delete_records_work_on_a_full_disk() -> None:
    """One log can not roll and the checkpoint can not be written, but the other logs are deleted all the same."""
    world = small_world()
    client = world.client()
    create(client, "stuck", configs={"retention.bytes": "0"})
    create(client, "aged", configs={**SEGMENTS, "retention.bytes": "2000"})
    create(client, "cut", configs=SEGMENTS)
    world.run(500)
    fill(world, leave_bytes=120_000)
    for _ in range(30):
        produce(client, "aged", b"a" * 900)
        produce(client, "cut", b"c" * 900)
    fill(world)
    before = {name: len(world.fs.list_directory(f"/disk/a/{name}-0")) for name in ("aged", "cut")}
    wanted = DeleteRecordsPartition(partition_index=0, offset=25)
    asked = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="cut", partitions=[wanted])], timeout_ms=1_000)
    answer = client.ask(asked, 2).topics[0].partitions[0]
    assert (answer.error_code, answer.low_watermark) == (ErrorCode.NONE, 25)
    for _ in range(1_000):
        world.run(1)
        keep_full(world)
    after = {name: len(world.fs.list_directory(f"/disk/a/{name}-0")) for name in ("aged", "cut")}
    assert after["aged"] < before["aged"] / 3
    assert after["cut"] < before["cut"] / 3
    assert is_healthy(world)
    world.lose_power()
    world.start()
    client = world.client()
    log = world.running.broker.logs.get(TopicPartition("cut", 0))
    assert log is not None, "what was deleted left no hole"
    assert 0 < log.log_start_offset <= 25


def test_a_half_made_partition_directory_is_completed_when_there_is_room() -> None:
    world = small_world()
    client = world.client()
    create(client, "t")
    fill(world)
    world.fs.disk("/disk").faults.fail(Op.WRITE, "/disk/a/new-0", fault=DiskFull, times=None)
    fill_back = world.fs.open(FILLER, OpenMode.WRITE)
    fill_back.truncate(fill_back.size() - LOW_BYTES - 20_000)  # enough to accept the topic, and for its directory
    topic = CreatableTopic(name="new", num_partitions=2, replication_factor=1, assignments=[], configs=[])
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 7).topics[0]
    assert answer.error_code == ErrorCode.NONE
    world.run(12_000)  # a few tries
    assert is_healthy(world)
    assert code_of_produce(client, "new") is not ErrorCode.NONE
    with pytest.raises(NotFound):
        world.fs.stat("/disk/a/new-0/partition.metadata")
    world.fs.disk("/disk").faults.heal()
    make_room(world)
    until_written(world, "new")


METADATA, LOG = "partition.metadata", "00000000000000000000.log"


@pytest.mark.parametrize(
    ("is_clean", "left"), [(False, []), (False, [METADATA]), (False, [METADATA, LOG]), (True, []), (True, [METADATA])]
)
def test_a_restart_recognises_what_was_half_made(is_clean: bool, left: list[str]) -> None:
    """The process died while it created the partition, or could not remove what it had created."""
    world = small_world()
    client = world.client()
    create(client, "t")
    if is_clean:
        world.stop()
    else:
        world.kill()
    for name in world.fs.list_directory("/disk/a/t-0"):
        world.fs.remove_file(f"/disk/a/t-0/{name}")
    for name in left:
        world.fs.open(f"/disk/a/t-0/{name}", OpenMode.CREATE).close()
    fill(world)
    world.start(until_running=False)
    world.run(3_000)
    assert is_healthy(world)
    make_room(world)
    world.wait_for(lambda: world.running.phase is Phase.RUNNING or None)
    until_written(world, "t")
    assert fetch_values(world.client(), "t") == [b"x" * 100]


# Coordinators


RESERVE = 4 << 20


def test_commits_use_the_reserve_that_ordinary_topics_may_not() -> None:
    world = group_world(2, {**QUICK, "log.dir.reserved.bytes": str(RESERVE)}, disks={"/disk": DiskSettings(CAPACITY)})
    world.run(1_500)
    client = world.client()
    fill(world, leave_bytes=RESERVE // 2)
    assert code_of_produce(client, "t") is ErrorCode.KAFKA_STORAGE_ERROR
    assert commit(client, "g", 7) is ErrorCode.NONE
    assert fetched(client, "g") == 7
    make_room(world)
    assert code_of_produce(client, "t") is ErrorCode.NONE


def test_a_commit_without_any_room_costs_itself_and_the_coordinator_stays_loaded() -> None:
    world = group_world(3, QUICK, disks={"/disk": DiskSettings(CAPACITY)})
    world.run(1_500)
    client = world.client()
    assert commit(client, "g", 7) is ErrorCode.NONE
    fill(world)
    machines = dict(world.running.broker.coordinators.groups.machines())
    for _ in range(5):
        assert commit(client, "g", 8) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert fetched(client, "g") == 7, "reads go on"
        world.run(700)
    now = dict(world.running.broker.coordinators.groups.machines())
    assert all(now[index] is machine for index, machine in machines.items()), "nothing was reloaded"
    turns = world.turns
    world.run(2_000)
    assert world.turns - turns < 200, "nor does it spin"
    make_room(world)
    assert commit(client, "g", 9) is ErrorCode.NONE
    assert fetched(client, "g") == 9


def test_a_full_quota_does_not_reload_the_coordinator_in_a_loop() -> None:
    """The disk reports free space and yet refuses each write, so the node can not tell beforehand."""
    world = group_world(4, QUICK, disks={"/disk": DiskSettings(CAPACITY)})
    world.run(1_500)
    client = world.client()
    assert commit(client, "g", 7) is ErrorCode.NONE
    world.fs.disk("/disk").faults.fail(Op.WRITE, "/disk/a", fault=DiskFull, times=None)
    codes: list[Any] = []
    for _ in range(40):
        codes.append(commit(client, "g", 8))
        until_loaded(world)
    assert codes.count(ErrorCode.NOT_COORDINATOR) <= 3
    assert codes.count(ErrorCode.COORDINATOR_NOT_AVAILABLE) >= 37
    world.fs.disk("/disk").faults.heal()
    world.run(1_500)
    assert commit(client, "g", 9) is ErrorCode.NONE


def prepare_without_partitions(world: NodeWorld, transactional_id: str) -> None:
    """Write the state that a coordinator of Apache Kafka leaves which stopped between the last marker and the end."""
    turn, shard = world.running.broker.turn, world.running.broker.coordinators.transactions.shard_of(transactional_id)
    assert shard is not None
    assert shard.machine is not None
    before = shard.machine.shard.transactions[transactional_id]
    prepared = replace(before, state=TransactionState.PREPARE_COMMIT, partitions={}, start_ms=before.last_update_ms)
    for _ in shard.log.append_steps([record_of(prepared, 0)], turn.wall_ms, is_atomic=True):
        pass
    assert shard.log.commit(turn.monotonic_ms, turn.wall_ms)
    world.run(500)


@pytest.mark.parametrize("end", [NodeWorld.stop, NodeWorld.kill])
def test_a_transaction_coordinator_that_begins_with_a_write_waits_for_room(end: Callable[[NodeWorld], None]) -> None:
    world = NodeWorld(5, {**QUICK, **SMALL}, disks={"/disk": DiskSettings(CAPACITY)})
    with_coordinators(world)
    world.run(1_500)
    SimProducer(world, "tx").init()
    prepare_without_partitions(world, "tx")
    end(world)
    fill(world)
    world.start()
    world.run(3_000)
    coordinators = world.running.broker.coordinators
    machines = dict(coordinators.transactions.machines())
    assert len(machines) == 2, "all are loaded, and answer who asks"
    turns = world.turns
    world.run(3_000)
    assert all(machine is machines[index] for index, machine in coordinators.transactions.machines())
    assert world.turns - turns < 300, "nor does it spin"
    make_room(world)
    world.run(3_000)
    shard = coordinators.transactions.shard_of("tx")
    assert shard is not None
    assert shard.machine is not None
    assert shard.machine.shard.transactions["tx"].state is TransactionState.COMPLETE_COMMIT
    SimProducer(world, "tx").init()


@pytest.mark.parametrize("is_v2", [False, True])
def test_a_transaction_ends_below_the_reserve(is_v2: bool) -> None:
    world = NodeWorld(
        5, {**QUICK, **SMALL, "log.dir.reserved.bytes": str(RESERVE)}, disks={"/disk": DiskSettings(CAPACITY)}
    )
    with_coordinators(world)
    world.run(1_500)
    create(world.client(), "t")
    producer = SimProducer(world, "tx", is_v2=is_v2).init()
    producer.write(("t", 0))
    fill(world, leave_bytes=RESERVE // 2)
    noise = world.client()
    assert code_of_produce(noise, "t") is ErrorCode.KAFKA_STORAGE_ERROR
    producer.end()
    world.run(3_000)
    log = world.running.broker.logs.get(TopicPartition("t", 0))
    assert log is not None
    assert log.last_stable_offset == log.log_end_offset, "the marker is there"
    assert world.running.broker.transactions.sending == []


def refuse_renames(world: NodeWorld, directory: str) -> None:
    """Refuse to rename the directory, as a disk without room for a longer name does, until the next start."""
    fs = world.running.broker.logs._context.fs
    rename = fs.rename

    def refused(source: str, target: str) -> None:
        if source == directory:
            raise DiskFull(target, "no room for a longer name")
        rename(source, target)

    fs.rename = refused  # type: ignore[method-assign]


def test_a_topic_made_where_one_was_deleted_without_another_name_keeps_its_records() -> None:
    world = small_world(log_flush_interval_messages="1", log_segment_delete_delay_ms="3000")
    client = world.client()
    create(client, "t")
    logs = world.running.broker.logs
    (log,) = [
        log
        for each in logs.directories.values()
        for topic_partition, log in each.logs.items()
        if topic_partition.topic == "t"
    ]
    fill(world)
    refuse_renames(world, log.directory)
    asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="t", topic_id=ZERO_UUID)], timeout_ms=5_000)
    assert client.ask(asked, 6).responses[0].error_code == ErrorCode.NONE
    make_room(world)
    world.run(200)
    create(client, "t")
    produce(client, "t", b"precious")
    world.run(6_000)
    assert fetch_values(client, "t") == [b"precious"]
    assert is_healthy(world)
    world.kill()
    world.start()
    assert fetch_values(world.client(), "t") == [b"precious"]


@EVERY_END
@pytest.mark.parametrize("is_failed", [True, False])
def test_a_start_without_a_sound_sync_mark_goes_on_and_stays_doubtful(
    is_failed: bool, end: Callable[[NodeWorld], None]
) -> None:
    world = small_world(log_flush_interval_messages="1")
    client = world.client()
    create(client, "t", configs=SEGMENTS)
    values = [b"0", b"1", b"2"]
    for value in values:
        produce(client, "t", value)
    world.run(1_000)  # until there are checkpoints, which need room to be replaced
    (path,) = world.running.broker.logs.directories
    if is_failed:
        assert mark_failed(world.fs, path)
    else:
        world.fs.remove_file(f"{path}/{SYNC_MARK}")
        world.fs.sync_directory(path)
    fill(world)
    world.kill()
    world.start()
    assert is_healthy(world)
    assert fetch_values(world.client(), "t") == values
    assert not is_marked_intact(world.fs, path)
    make_room(world)
    end(world)
    assert ".kafka_cleanshutdown" not in world.fs.list_directory(path)
    world.start()
    assert fetch_values(world.client(), "t") == values
    assert is_marked_intact(world.fs, path)


@EVERY_END
@pytest.mark.parametrize("is_failed", [True, False])
def test_a_failed_sync_without_room_and_ballast_is_made_good_in_place(
    is_failed: bool, end: Callable[[NodeWorld], None]
) -> None:
    """Replacing the vote's file needs room, but the same bytes can be written over it."""
    world = without_ballast(NodeWorld.kill)
    if is_failed:
        assert mark_failed(world.fs, "/disk/a")
    else:
        world.fs.remove_file(f"/disk/a/{SYNC_MARK}")
    fill(world)
    world.start(until_running=False)
    world.wait_for(lambda: world.running._is_serving or None)
    keep_full(world)
    values = [b"%d" % number * 40 for number in range(9)]
    assert fetch_values(world.client(), "t") == values
    assert code_of_produce(world.client(), "t") is ErrorCode.KAFKA_STORAGE_ERROR
    make_room(world)
    world.wait_for(lambda: phase_of(world) is Phase.RUNNING or None)
    until_written(world, "t")
    end(world)
    world.start()
    assert fetch_values(world.client(), "t")[:9] == values
