"""What a scrape sees of the coordinators: groups by state, how far they are behind, and transactions by state.

Lag is what people ask a broker for, and Kafka's does not tell. It is counted by group and topic: by partition it would
be a million series where there are a million offsets. Even so a cluster may have more than a monitoring should be sent,
so only the series that are furthest behind are told (`LAG_SERIES_MAX`), and how many are left out.

Everything is looked at in pieces. Groups come and go in between; what is gone when its turn has come is left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from tidelog.coordinator.transaction.states import STATE_NAMES

if TYPE_CHECKING:
    from tidelog.coordinator.group.coordinator import GroupCoordinator
    from tidelog.coordinator.transaction.coordinator import TransactionCoordinator
    from tidelog.server.node.broker import Broker

OFFSETS_A_PIECE: Final = 1_000
ENTRIES_A_PIECE: Final = 500
LAG_SERIES_MAX: Final = 2_000

GroupTopic = tuple[str, str]


@dataclass(slots=True)
class Lag:
    """Of a group in a topic: in all partitions, and in the one that is furthest behind."""

    total: int = 0
    worst: int = 0


@dataclass(slots=True)
class CoordinatorSurvey:
    groups: dict[tuple[str, str], int] = field(default_factory=dict)  # how many, by type and state
    offsets: int = 0
    lag: dict[GroupTopic, Lag] = field(default_factory=dict)
    lag_left_out: int = 0
    group_counters: dict[str, int] = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)  # how many, by state
    oldest_start_ms: int | None = None  # of an open transaction, by the wall clock
    transaction_counters: dict[str, int] = field(default_factory=dict)

    def take(self, broker: "Broker") -> Iterator[None]:
        """Gives way after each piece."""
        ends: dict[str, dict[int, int]] = {}
        for index, (topic_partition, partition) in enumerate(list(broker.hosted.by_topic_partition.items())):
            if partition.is_online:
                ends.setdefault(topic_partition.topic, {})[topic_partition.partition] = partition.log.high_watermark
            if index % ENTRIES_A_PIECE == 0:
                yield
        for _, groups in broker.coordinators.groups.machines():
            yield from self._look_at_groups(groups, ends)
        for _, transactions in broker.coordinators.transactions.machines():
            yield from self._look_at_transactions(transactions)
        yield from self._keep_the_furthest_behind()

    def _look_at_groups(self, machine: "GroupCoordinator", ends: Mapping[str, Mapping[int, int]]) -> Iterator[None]:
        shard = machine.shard
        _add(self.group_counters, shard.counters)
        self.offsets += shard.offsets.count
        for index, group_id in enumerate(list(shard.groups)):
            group = shard.groups.get(group_id)
            if group is not None:
                kind = (group.type.value, group.state_name)
                self.groups[kind] = self.groups.get(kind, 0) + 1
            if index % ENTRIES_A_PIECE == 0:
                yield
        looked_at = 0
        for group_id in list(shard.offsets.committed):
            for topic, by_partition in list(shard.offsets.of_group(group_id).items()):
                looked_at += len(by_partition)
                self._look_at_offsets(group_id, topic, by_partition, ends.get(topic) or {})
                if looked_at >= OFFSETS_A_PIECE:
                    looked_at = 0
                    yield

    def _look_at_offsets(
        self, group_id: str, topic: str, by_partition: Mapping[int, Any], ends: Mapping[int, int]
    ) -> None:
        """Of the partitions that this broker hosts: of the others it does not know where they end."""
        behind = [
            max(0, ends[partition] - offset.offset) for partition, offset in by_partition.items() if partition in ends
        ]
        if behind:
            self.lag[group_id, topic] = Lag(sum(behind), max(behind))

    def _look_at_transactions(self, machine: "TransactionCoordinator") -> Iterator[None]:
        shard = machine.shard
        _add(self.transaction_counters, shard.counters)
        for index, transactional_id in enumerate(list(shard.transactions)):
            found = shard.transactions.get(transactional_id)
            if found is not None:
                name = STATE_NAMES[found.state]
                self.transactions[name] = self.transactions.get(name, 0) + 1
                if transactional_id in shard.ongoing:
                    self._note_start(found.start_ms)
            if index % ENTRIES_A_PIECE == 0:
                yield

    def _note_start(self, start_ms: int) -> None:
        if self.oldest_start_ms is None or start_ms < self.oldest_start_ms:
            self.oldest_start_ms = start_ms

    def _keep_the_furthest_behind(self) -> Iterator[None]:
        """Sorting millions at once would take too long: the furthest of each piece, and the furthest of these."""
        self.lag_left_out = max(0, len(self.lag) - LAG_SERIES_MAX)
        if not self.lag_left_out:
            return
        kept: list[tuple[int, GroupTopic]] = []
        piece: list[tuple[int, GroupTopic]] = []
        for key, lag in self.lag.items():
            piece.append((lag.total, key))
            if len(piece) >= LAG_SERIES_MAX:
                kept, piece = _furthest(kept + piece), []
                yield
        self.lag = {key: self.lag[key] for _, key in _furthest(kept + piece)}


def _furthest(found: list[tuple[int, GroupTopic]]) -> list[tuple[int, GroupTopic]]:
    return sorted(found, key=itemgetter(0), reverse=True)[:LAG_SERIES_MAX]


def _add(totals: dict[str, int], counters: Mapping[str, int]) -> None:
    for name, count in counters.items():
        totals[name] = totals.get(name, 0) + count
