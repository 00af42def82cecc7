"""A stop begins the last flush of every log, also of those whose own flushes become due meanwhile."""

from tests.sim.broker import Broker, topic_config

from tidelog.model.ids import TopicPartition
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem

PLACES = [TopicPartition("t", index) for index in range(8)]


def written() -> Broker:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=topic_config()).start()
    for topic_partition in PLACES:
        node.produce([b"x"], topic_partition)
    return node


def test_a_flush_that_is_under_way_is_waited_for() -> None:
    node = written()
    for topic_partition in PLACES:
        log = node.log(topic_partition)
        log.flush.ask(log)
    node.logs.flush_due(node.now, 1)
    assert any(node.log(topic_partition).flush.begun for topic_partition in PLACES)
    progress = node.logs.begin_closing()
    node.settle()
    assert progress.logs_begun == progress.logs_total == len(PLACES)
    assert [node.log(topic_partition).flush.recovery_point for topic_partition in PLACES] == [1] * len(PLACES)
    node.stop()
    assert node.fs.stat("/disk/logs/.kafka_cleanshutdown").size


def test_flushes_that_fall_due_between_two_steps_are_waited_for() -> None:
    node = written()
    progress = node.logs.begin_closing()
    for topic_partition in PLACES:
        log = node.log(topic_partition)
        log.flush.ask(log)  # as a roll in the last turn does
    node.settle()
    assert progress.logs_begun == len(PLACES)
    node.stop()
    assert node.fs.stat("/disk/logs/.kafka_cleanshutdown").size
