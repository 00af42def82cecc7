"""Which partitions are claimed, while an assignment is being made: what members keep, and what is left."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidelog.coordinator.group.assignors.assignor import TopicPartitions
from tidelog.model.ids import Uuid


class Holdings:
    """The partitions of a set of topics, each with whether a member has claimed it. The first to claim one has it."""

    __slots__ = ("_is_claimed",)

    def __init__(self, partition_counts: Mapping[Uuid, int]) -> None:
        self._is_claimed = {topic_id: bytearray(count) for topic_id, count in partition_counts.items()}

    def claim(self, topic_id: Uuid, partitions: Iterable[int], limit: int) -> list[int]:
        """Claim those of `partitions` that exist and nobody has, `limit` of them at most; return what was claimed."""
        is_claimed = self._is_claimed.get(topic_id)
        claimed: list[int] = []
        if is_claimed is None or limit <= 0:
            return claimed
        count = len(is_claimed)
        for partition in partitions:
            if 0 <= partition < count and not is_claimed[partition]:
                is_claimed[partition] = 1
                claimed.append(partition)
                if len(claimed) == limit:
                    break
        return claimed

    def free(self, topic_id: Uuid) -> Iterator[int]:
        """Yield the partitions of a topic that nobody has claimed, in ascending order."""
        is_claimed = self._is_claimed[topic_id]
        partition = is_claimed.find(0)
        while partition >= 0:
            yield partition
            partition = is_claimed.find(0, partition + 1)


def kept_or_new(had: TopicPartitions, holds: dict[Uuid, list[int]]) -> TopicPartitions:
    """Return what the member holds now: the very object that it had, where that says the same."""
    if had.keys() == holds.keys() and all(_is_same(had[topic_id], holds[topic_id]) for topic_id in had):
        return had
    return {topic_id: sorted(partitions) for topic_id, partitions in holds.items()}


def _is_same(had: Sequence[int], holds: list[int]) -> bool:
    return len(had) == len(holds) and (list(had) == holds or sorted(had) == sorted(holds))
