"""Which partition a record goes to, as Java's default partitioner has it.

A key decides by its murmur2. Without one a topic's records stick to a partition until a batch of them is there, then
move on to another by chance (KIP-794): full batches, and an even load over time. Partitions without a leader are
passed over, so that an outage does not hold up records that may go anywhere.
"""

from dataclasses import dataclass

from tidelog.client.metadata import TopicMetadata
from tidelog.client.producer.kernels_murmur2 import partition_of_key
from tidelog.ports.entropy import Entropy


@dataclass(slots=True)
class Sticky:
    partition: int
    left_bytes: int


class Partitioner:
    def __init__(self, entropy: Entropy, batch_bytes: int) -> None:
        self._entropy = entropy
        self._batch_bytes = batch_bytes
        self._sticky: dict[str, Sticky] = {}

    def choose(self, topic: TopicMetadata, key: bytes | None, size_bytes: int) -> int:
        if key is not None:
            return partition_of_key(key, len(topic.partitions))
        stuck = self._sticky.get(topic.name)
        if stuck is None or stuck.left_bytes <= 0 or topic.partitions[stuck.partition].leader < 0:
            stuck = self._sticky[topic.name] = Sticky(self._next(topic), self._batch_bytes)
        stuck.left_bytes -= size_bytes
        return stuck.partition

    def _next(self, topic: TopicMetadata) -> int:
        led = [each.index for each in topic.partitions if each.leader >= 0]
        choices = led or [each.index for each in topic.partitions]
        return choices[self._entropy.random_below(len(choices))]
