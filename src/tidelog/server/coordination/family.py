"""All coordinators of one kind on this broker: one for each partition of their topic that it leads.

A key (a group, a transactional id) belongs to the partition that Java's String.hashCode gives it: brokers of a mixed
cluster, and the records that are there already, agree on that.

Most turns concern few of them. Those that have something to do are in `_ready`, those that have only something to write
(`quick_commit` has decided for them) in `_decided`, those whose answers wait for a high watermark in `_held`, those
that were dropped and wait for their log in `_settling`; the others cost nothing but a glance at the earliest of their
deadlines.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from tidelog.metadata.changes import Changes
from tidelog.model.errors import ErrorCode
from tidelog.server.hosting.partition import Partition
from tidelog.server.replicated import Machine, Reply

if TYPE_CHECKING:
    from tidelog.server.coordination.kind import CoordinatorKind
    from tidelog.server.coordination.running_coordinator import CoordinatorShard
    from tidelog.server.node.broker import Broker

M = TypeVar("M", bound=Machine)

KEYS_REMEMBERED: Final = 16_384
_MIN_INT32: Final = 1 << 31


@lru_cache(KEYS_REMEMBERED)
def java_hash(text: str) -> int:
    """Return what Java's `Utils.abs(text.hashCode())` is: over UTF-16 units, in 32 bits; the one number without an
    absolute value becomes 0."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    found = 0
    for at in range(0, len(encoded), 2):
        found = (31 * found + (encoded[at] << 8) + encoded[at + 1]) & 0xFFFFFFFF
    return 0 if found == _MIN_INT32 else min(found, (1 << 32) - found)


class CoordinatorFamily(Generic[M]):
    """The coordinators of one kind, by partition of their topic."""

    def __init__(self, broker: "Broker", topic: str, import_kind: Callable[[], "CoordinatorKind[M]"]) -> None:
        """`import_kind` is called when a coordinator is needed for the first time."""
        self._broker = broker
        self.topic = topic
        self._import_kind = import_kind
        self.on_effect: Callable[[Any], None] = lambda _effect: None  # what machines want done in the world
        self._shards: dict[int, CoordinatorShard[M]] = {}
        self._ready: dict[int, CoordinatorShard[M]] = {}
        self._decided: dict[int, CoordinatorShard[M]] = {}
        self._held: dict[int, CoordinatorShard[M]] = {}
        self._settling: dict[int, CoordinatorShard[M]] = {}
        self._deadlines: dict[int, int] = {}
        self._next_ms: int | None = None  # the earliest of the deadlines
        self._count: int | None = None  # partitions of the topic, as of the last image

    @property
    def kind(self) -> "CoordinatorKind[M]":
        return self._import_kind()

    # Who is asked

    def partition_for(self, key: str) -> int:
        return java_hash(key) % self.partition_count

    @property
    def partition_count(self) -> int:
        if self._count is None:
            topic = self._broker.image.topics.by_name.get(self.topic)
            self._count = self.kind.partitions_wanted(self._broker) if topic is None else len(topic.partitions)
        return self._count

    def partition_of(self, key: str) -> Partition | None:
        """Return the partition that the key's coordinator writes to; None where another broker leads it."""
        shard = self.shard_of(key)
        return None if shard is None else shard.partition

    def shard_of(self, key: str) -> "CoordinatorShard[M] | None":
        return self._shards.get(self.partition_for(key))

    def machines(self) -> list[tuple[int, M]]:
        """Return the machines that are active, with their partitions, in the order of the partitions."""
        found = ((index, self._shards[index].machine) for index in sorted(self._shards))
        return [(index, machine) for index, machine in found if machine is not None]

    def partitions(self) -> list[int]:
        """Return all partitions that this broker coordinates, or will once they are loaded."""
        return sorted(self._shards)

    def submit(self, key: str, request: Any, reply: Reply) -> None:
        self.submit_to(self.partition_for(key), request, reply)

    def submit_to(self, partition: int, request: Any, reply: Reply) -> None:
        """Hand a request to the coordinator of a partition. `reply` gets the response, or an ErrorCode or ApiError; at
        once where this broker is not the one to ask."""
        shard = self._shards.get(partition)
        if shard is None:
            reply(ErrorCode.NOT_COORDINATOR)
            return
        shard.submit(self._broker.turn.monotonic_ms, request, reply)
        self._ready[partition] = shard

    def has_decided(self, shard: "CoordinatorShard[M]") -> None:
        """Note that a coordinator has decided something outside of its turn, which is to be written in this one."""
        self._decided[shard.index] = shard

    # Turns

    @property
    def has_work(self) -> bool:
        return bool(self._ready or self._decided)

    @property
    def deadline_ms(self) -> int | None:
        return self._next_ms

    def is_due(self, now_ms: int) -> bool:
        return bool(self._ready or self._decided or self._held or self._settling) or (
            self._next_ms is not None and now_ms >= self._next_ms
        )

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> bool:
        """Write, answer and handle what is due; return whether any coordinator did anything. One that had no time left
        is the first of the next turn."""
        self._answer_held()
        self._wake_settled()
        has_written = bool(self._decided)
        if has_written:
            self._write_decided(wall_ms)
        if self._next_ms is not None and now_ms >= self._next_ms:
            for index in [each for each, due_ms in self._deadlines.items() if now_ms >= due_ms]:
                self._ready.setdefault(index, self._shards[index])
        ready, self._ready = self._ready, {}
        later: dict[int, CoordinatorShard[M]] = {}
        for count, (index, shard) in enumerate(ready.items()):
            if count and is_over():
                later[index] = shard
            else:
                shard.turn(now_ms, wall_ms, is_over)
                self._look_ahead(index, shard)
        self._ready = {**later, **self._ready}
        return has_written or bool(ready)

    def _write_decided(self, wall_ms: int) -> None:
        """Write the decisions of all these coordinators together: what a directory has to be asked, and who has to be
        told, is the same for all. A deadline that a decision has moved is noticed at the old one: a member that is
        alive only puts it off."""
        decided, self._decided = self._decided, {}
        shards = [shard for index, shard in decided.items() if index not in self._ready]  # those write in their turn
        staged = [shard.partition.log for shard in shards if shard.log.stage(wall_ms)]
        self._broker.logs.commit(staged, wall_ms, uses_reserve=True)
        for shard in shards:
            shard.settle()
            if shard.replicated.is_idle or shard.replicated.is_waiting:
                self._look_ahead(shard.index, shard)

    def _look_ahead(self, index: int, shard: "CoordinatorShard[M]") -> None:
        """Note what the coordinator does next: work, wait for the high watermark or for its log, or rest until a
        deadline."""
        if self._shards.get(index) is not shard:
            return
        if shard.has_work:
            self._ready[index] = shard
        elif shard.replicated.is_idle and not shard.is_failed:
            self._settling[index] = shard
        if shard.replicated.is_waiting:
            self._held[index] = shard
        self._note_deadline(index, shard.replicated.deadline)

    def _note_deadline(self, index: int, deadline_ms: int | None) -> None:
        if self._deadlines.get(index) == deadline_ms:
            return
        if deadline_ms is None:
            del self._deadlines[index]
        else:
            self._deadlines[index] = deadline_ms
        self._next_ms = min(self._deadlines.values(), default=None)

    def _answer_held(self) -> None:
        for index, shard in list(self._held.items()):
            shard.replicated.answer()
            if not shard.replicated.is_waiting:
                self._held.pop(index, None)

    def _wake_settled(self) -> None:
        for index, shard in list(self._settling.items()):
            if shard.has_work:
                self._ready[index] = self._settling.pop(index)

    # Leadership, and what else changes

    def look(self, partition: Partition) -> None:
        """Start or drop the coordinator of a partition that has another leader, epoch or state, or is gone."""
        index = partition.topic_partition.partition
        is_ours = partition.is_leader and partition.is_online
        shard = self._shards.get(index)
        if shard is not None and shard.partition is not partition and not is_ours:
            return  # an earlier topic of the same name, which was dropped before
        if shard is not None and not (is_ours and shard.partition is partition and self._is_current(shard)):
            self._forget(index, shard)
            shard = None
        if is_ours and shard is None:
            from tidelog.server.coordination.running_coordinator import CoordinatorShard

            self._shards[index] = self._ready[index] = CoordinatorShard(
                self._broker, self.kind, partition, lambda effect: self.on_effect(effect)
            )

    @staticmethod
    def _is_current(shard: "CoordinatorShard[M]") -> bool:
        return shard.leader_epoch == shard.partition.leader_epoch

    def _forget(self, index: int, shard: "CoordinatorShard[M]") -> None:
        del self._shards[index]
        self._ready.pop(index, None)
        self._decided.pop(index, None)
        self._held.pop(index, None)
        self._settling.pop(index, None)
        self._note_deadline(index, None)
        shard.drop()

    def wake(self, index: int) -> None:
        """Give the coordinator a turn: what its loading waited for is there."""
        if index in self._shards:
            self._ready[index] = self._shards[index]

    def image_changed(self, now_ms: int, changes: Changes) -> None:
        self._count = None
        for index, shard in self._in_order():
            shard.image_changed(now_ms, changes)
            self._note_deadline(index, shard.replicated.deadline)

    def reconfigured(self, index: int | None = None) -> None:
        """Apply changed settings to one coordinator, or to all."""
        self._count = None
        for each, shard in self._in_order():
            if index in (None, each):
                shard.reconfigured()

    def stop(self) -> None:
        """Drop all coordinators for good; requests that wait are told to ask elsewhere."""
        for index, shard in self._in_order():
            self._forget(index, shard)

    def _in_order(self) -> "Iterator[tuple[int, CoordinatorShard[M]]]":
        return ((index, self._shards[index]) for index in self.partitions())
