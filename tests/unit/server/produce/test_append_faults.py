"""A disk that fails while a batch is given its offset, before anything is written: the first append after a start reads
the active segment. The producer gets the error, and the node goes on with its other directory."""

import pytest
from tests.support.coordinating import commit, fetched, partition_of
from tests.support.serving import batch_of, create, produced
from tests.support.transactional import SMALL, SimProducer, with_coordinators

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.server.hosting.partition import Partition
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld


def two_disks(seed: int) -> NodeWorld:
    disks = {"/disk": DiskSettings(), "/other": DiskSettings()}
    world = NodeWorld(seed, {**SMALL, "log.dirs": "/disk/a,/other/b"}, disks=disks)
    create(world.client(), "t", partitions=2)
    with_coordinators(world)
    return world


def restart(world: NodeWorld) -> None:
    world.kill()
    world.start()
    with_coordinators(world)


def fail_reads(world: NodeWorld, partition: Partition) -> None:
    directory = partition.log.directory
    world.fs.disk("/" + directory.split("/")[1]).faults.fail(Op.READ, directory)


def hosted(world: NodeWorld, index: int) -> Partition:
    return world.running.broker.hosted.by_topic_partition[TopicPartition("t", index)]


def test_a_coordinator_s_decision_is_not_made() -> None:
    world = two_disks(61)
    assert commit(world.client(), "g", 5) is ErrorCode.NONE
    restart(world)
    client = world.client()
    fail_reads(world, partition_of(world, "g"))
    assert commit(client, "g", 6) is ErrorCode.NOT_COORDINATOR
    world.run(200)
    assert fetched(client, "g") is ErrorCode.NOT_COORDINATOR, "its directory is offline"
    assert any(each.is_online for each in world.running.broker.logs.directories.values())


def test_a_producer_is_told() -> None:
    world = two_disks(62)
    assert produced(world.client(), "t", batch_of(b"x")).error_code == ErrorCode.NONE
    restart(world)
    fail_reads(world, hosted(world, 0))
    assert produced(world.client(), "t", batch_of(b"y")).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_producer_is_told_that_has_produced_there_before() -> None:
    """The producer's batches take the quick path. The next turn's append reads the segment for its first timestamp."""
    world = two_disks(65)
    client = world.client()
    create(client, "small", configs={"internal.segment.bytes": "2000"})
    partition = world.running.broker.hosted.by_topic_partition[TopicPartition("small", 0)]
    while len(partition.log.segments) < 2:
        assert produced(client, "small", batch_of(bytes(200))).error_code == ErrorCode.NONE
        world.run(50)
    fail_reads(world, partition)
    assert produced(client, "small", batch_of(b"x")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    world.run(200)
    online = [each.is_online for each in world.running.broker.logs.directories.values()]
    assert sorted(online) == [False, True], "the other one goes on"


@pytest.mark.parametrize("is_v2", [False, True], ids=["v1", "v2"])
def test_a_transactional_producer_is_told(is_v2: bool) -> None:
    """The batch is given its offset after the coordinator has answered, outside of its request."""
    world = two_disks(63)
    one = SimProducer(world, "id", is_v2=is_v2).init()
    one.write(("t", 0), value=b"x")
    one.end()
    restart(world)
    two = SimProducer(world, "id", is_v2=is_v2).init()
    if not is_v2:
        two.add(("t", 0))
    fail_reads(world, hosted(world, 0))
    assert two.ask_produce(("t", 0), b"y").error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_marker_waits_for_a_better_time() -> None:
    world = two_disks(64)
    one = SimProducer(world, "id").init()
    one.write(("t", 0), value=b"x")
    restart(world)
    one.client = world.client()
    fail_reads(world, hosted(world, 0))
    one.end()
    world.run(300)
    assert one.state() == "PrepareCommit"
    world.fs.disk("/disk").faults.heal()
    world.fs.disk("/other").faults.heal()
    restart(world)
    one.client = world.client()
    world.wait_for(lambda: one.state() == "CompleteCommit" or None)
