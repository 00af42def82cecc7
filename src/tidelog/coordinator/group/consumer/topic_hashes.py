"""What the topics of a group looked like when it was last assigned, as one number: Kafka's own, bit for bit.

It stands in the group's record, and is compared after a failover, also between brokers of both kinds. A coordinator
that takes the group over computes it again and rebalances only where it differs. A topic counts with its id, name,
partitions and the racks of their replicas.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import xxhash

from tidelog.metadata.image import MetadataImage
from tidelog.metadata.nodes import Broker
from tidelog.metadata.shared_map import SharedMap
from tidelog.metadata.topics import Topic

_MAGIC = b"\x00"  # the version of what is hashed


@dataclass(slots=True)
class TopicHashes:
    """The hashes of topics, computed once for all groups, and the offset at which topics were last created.
    Volatile."""

    by_name: dict[str, int] = field(default_factory=dict)
    new_topics_offset: int | None = None  # of the metadata log

    def forget(self, names: Collection[str]) -> None:
        """Forget the hashes of these topics. Goes through the names or the hashes, whichever are fewer: thousands of
        topics may change at once, and every coordinator hears of them."""
        if len(self.by_name) < len(names):
            self.by_name = {name: value for name, value in self.by_name.items() if name not in names}
        else:
            for name in names:
                self.by_name.pop(name, None)

    def group_hash(self, image: MetadataImage, names: Iterable[str]) -> int:
        """Return the hash of those topics that exist; 0 where none does."""
        hashes = [self._topic_hash(image, topic) for name in sorted(names) if (topic := image.topics.by_name.get(name))]
        return xxh3_64(b"".join(map(_int64, hashes))) if hashes else 0

    def _topic_hash(self, image: MetadataImage, topic: Topic) -> int:
        found = self.by_name.get(topic.name)
        if found is None:
            found = self.by_name[topic.name] = topic_hash(topic, image.brokers)
        return found


def topic_hash(topic: Topic, brokers: SharedMap[int, Broker]) -> int:
    parts = [_MAGIC, topic.id[7::-1], topic.id[:7:-1], _string(topic.name), _int32(len(topic.partitions))]
    for partition in range(len(topic.partitions)):
        parts.append(_int32(partition))
        for rack in _racks(topic, partition, brokers):
            parts += (_int32(_utf16_units(rack)), _string(rack))
    return xxh3_64(b"".join(parts))


def xxh3_64(data: bytes) -> int:
    """Return the XXH3 hash of 64 bits without a seed, as the signed number that a record holds."""
    value = xxhash.xxh3_64_intdigest(data)
    return value - (1 << 64) if value >> 63 else value


def _racks(topic: Topic, partition: int, brokers: SharedMap[int, Broker]) -> list[str]:
    found = topic.partitions.get(partition)
    replicas = (brokers.get(replica) for replica in found.replicas) if found else ()
    return sorted(broker.rack for broker in replicas if broker is not None and broker.rack is not None)


def _string(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + _int32(_utf16_units(text))


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _int64(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)
