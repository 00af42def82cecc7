"""A log that was written in a later leader epoch than the metadata know of, as after an older copy of the metadata was
restored. The next recovery would cut off what a leader writes in its former epoch, so that must not be acknowledged in
the first place."""

from tests.support.serving import batch_of, create, fetch_values, produce, produced

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.server.hosting.partition import Partition
from tidelog.sim.node_world import NodeWorld


def partition_in(world: NodeWorld) -> Partition:
    return world.running.broker.hosted.by_topic_partition[TopicPartition("t", 0)]


def restart(world: NodeWorld) -> None:
    world.kill()
    world.start()


def written_in_later_epoch(by: int) -> NodeWorld:
    world = NodeWorld(seed=107)
    create(world.client(), "t")
    partition = partition_in(world)
    partition.leader_epoch += by  # the metadata will not have this epoch after the start
    produce(world.client(), "t", b"late")
    restart(world)
    return world


def test_nothing_is_acknowledged_that_recovery_cuts() -> None:
    world = written_in_later_epoch(by=5)
    partition = partition_in(world)
    log = partition.log
    assert partition.leader_epoch < 5
    assert not partition.is_leader
    assert produced(world.client(), "t", batch_of(b"lost?")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (log.epochs.latest_epoch, log.log_end_offset) == (5, 1), "what the log knows of its epochs stays"


def test_it_leads_again_once_its_epoch_is_late_enough() -> None:
    world = written_in_later_epoch(by=5)
    starts = 0
    while not partition_in(world).is_leader:
        restart(world)
        starts += 1
        assert starts < 10
    assert starts > 0
    assert partition_in(world).leader_epoch >= 5
    produce(world.client(), "t", b"kept")
    restart(world)
    assert fetch_values(world.client(), "t") == [b"late", b"kept"]
