"""What a node serves whose quorum can not write: reads, of everything that was committed before.

A one-node quorum that finds no room for its vote, even without the ballast, has no leader and no controller. The
metadata are all there, though. Nobody else can have led since, so the node is where it was left:

    who leads    this broker, wherever it was in sync; a stop in order has taken the leaders away
    reads        are answered, and retention goes on, which may make the room that is missing
    writes       find no room in any log directory (`DiskRoom.is_withheld`): they wait for a new leader epoch

Once there is room the quorum elects its leader, the broker registers, and everything goes on as after any start.
"""

from typing import TYPE_CHECKING, Final

from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.records.brokers import BrokerRegistrationChangeRecord
from tidelog.metadata.records.topics import PartitionChangeRecord

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

UNFENCED: Final = -1


def as_left(image: MetadataImage, node_id: int) -> MetadataImage:
    """The image with this broker alive, and the leader of what has none and may be led from here: it was in sync, or an
    eligible leader replica."""
    draft = MetadataDraft(image)
    broker = image.brokers[node_id]
    if broker.fenced:
        draft.replay(BrokerRegistrationChangeRecord(broker_id=node_id, broker_epoch=broker.epoch, fenced=UNFENCED))
    for topic in image.topics.by_id.values():
        for index, partition in topic.partitions.items():
            if not partition.has_leader and node_id in (*partition.isr, *partition.elr):
                isr = list(partition.isr) or [node_id]
                draft.replay(PartitionChangeRecord(partition_id=index, topic_id=topic.id, leader=node_id, isr=isr))
    return draft.freeze(*image.provenance)


def stand_by(broker: "Broker") -> None:
    """Host what the broker led when it was left. Nothing may be written before that is over (`withhold_room`)."""
    withhold_room(broker, is_withheld=True)
    broker.image = as_left(broker.image, broker.node_id)
    broker.generation += 1
    broker.hosted.start(broker.image, broker.hosted.directories)


def withhold_room(broker: "Broker", *, is_withheld: bool) -> None:
    """Let nothing be appended in any log directory; or let it be again."""
    for directory in broker.logs.directories.values():
        directory.room.is_withheld = is_withheld
