"""Logs of which the cluster knows nothing: of a topic that was deleted while this broker was away, or that it has never
heard of (a directory from elsewhere, a metadata log that was lost).

As in Kafka they are set aside under a name of their own, `<topic>-<partition>.<unique>-stray`, and never deleted: if it
is the metadata that are wrong, the records are all that is left. Whoever needs the room deletes them by hand.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tidelog.storage.log.log import Log
from tidelog.storage.names import DirectoryState

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

UNIQUE_BYTES: Final = 16


def unique(broker: "Broker") -> str:
    return broker.entropy.random_bytes(UNIQUE_BYTES).hex()


def is_stray(broker: "Broker", log: Log) -> bool:
    """Tell whether the cluster does not have this log. One without an id is a stray, too: the id is written before the
    first record, so nobody can say whose records these are."""
    if log.topic_id is None:
        return True
    topic, topic_partition = broker.image.topics.by_id.get(log.topic_id), log.topic_partition
    image = (
        None
        if topic is None or topic.name != topic_partition.topic
        else topic.partitions.get(topic_partition.partition)
    )
    return image is None or broker.node_id not in image.replicas


def set_stray(broker: "Broker", log: Log) -> None:
    """Set a log aside. One that has neither id nor records is the beginning of a log that was being made, and is
    deleted."""
    topic_partition, now_ms = log.topic_partition, broker.turn.wall_ms
    if log.topic_id is None and log.log_start_offset == log.log_end_offset:
        broker.logs.delete(topic_partition, unique(broker), now_ms)
        return
    broker.events.stray(topic_partition, log.directory)
    broker.logs.delete(topic_partition, unique(broker), now_ms, DirectoryState.STRAY)


def set_strays(broker: "Broker") -> Iterator[None]:
    """Set all stray logs aside, a log at each step."""
    for directory in broker.logs.directories.values():
        for log in list(directory.logs.values()):
            if directory.is_online and is_stray(broker, log):
                set_stray(broker, log)
            yield
