"""The coordinators of this broker, of groups and of transactions, and their part in a turn of the loop.

They have their part between the requests that a turn brought and its end, when everything is sent: what was asked in a
turn is decided, written and, on a partition of one replica, answered in it. What a decision brings about (a marker in
another coordinator's partition, say) is a new request, so they go round until nobody has anything to do, or the time is
up.
"""

from typing import TYPE_CHECKING, Any, Final

from tidelog.metadata.changes import Changes
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.server.coordination.family import CoordinatorFamily
from tidelog.server.hosting.partition import Partition

if TYPE_CHECKING:
    from tidelog.coordinator.group.coordinator import GroupCoordinator
    from tidelog.coordinator.transaction.coordinator import TransactionCoordinator
    from tidelog.server.coordination.kind import CoordinatorKind
    from tidelog.server.node.broker import Broker

# From a transaction's end to its last record is four rounds.
ROUNDS_MAX: Final = 16


# A node that starts answers its first client without these two, which are a hundred modules.


def _groups() -> "CoordinatorKind[GroupCoordinator]":
    from tidelog.server.coordination.group_coordinators import GROUPS

    return GROUPS


def _transactions() -> "CoordinatorKind[TransactionCoordinator]":
    from tidelog.server.coordination.transaction_coordinators import TRANSACTIONS

    return TRANSACTIONS


class Coordinators:
    """Both families of coordinators: `broker.coordinators`."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._is_stopped = False
        self.groups = CoordinatorFamily(broker, CONSUMER_OFFSETS, _groups)
        self.transactions = CoordinatorFamily(broker, TRANSACTION_STATE, _transactions)
        self.transactions.on_effect = broker.transactions.send_markers
        self._families: dict[str, CoordinatorFamily[Any]] = {
            self.groups.topic: self.groups,
            self.transactions.topic: self.transactions,
        }

    # Turns

    @property
    def has_work(self) -> bool:
        return self.groups.has_work or self.transactions.has_work

    @property
    def deadline_ms(self) -> int | None:
        """The time at which a coordinator wants a turn even if nobody asks it anything; None: never."""
        one, other = self.groups.deadline_ms, self.transactions.deadline_ms
        if one is None or other is None:
            return other if one is None else one
        return min(one, other)

    def turn(self) -> None:
        """Let both families work, in rounds, until nobody has anything to do or the turn is over."""
        broker = self._broker
        turn = broker.turn
        now_ms, wall_ms = turn.monotonic_ms, turn.wall_ms
        for _ in range(ROUNDS_MAX):
            # Who is due is found out before the first of them has its turn.
            are_groups_due, are_transactions_due = self.groups.is_due(now_ms), self.transactions.is_due(now_ms)
            did = are_groups_due and self.groups.turn(now_ms, wall_ms, turn.is_over)
            if are_transactions_due:
                did = self.transactions.turn(now_ms, wall_ms, turn.is_over) or did
            if broker.transactions.staged:
                did = broker.transactions.write_markers() or did
            if not did or turn.is_over():
                return

    # What they follow

    def look(self, partition: Partition) -> None:
        """Start or drop the coordinator of a partition, after every change of a partition that this broker hosts."""
        family = self._families.get(partition.topic_partition.topic)
        if family is not None and not self._is_stopped:
            family.look(partition)

    def wake(self, partition: Partition) -> None:
        """Go on with a coordinator whose loading waited for the disk or for a worker."""
        family = self._families.get(partition.topic_partition.topic)
        if family is not None:
            family.wake(partition.topic_partition.partition)

    def image_changed(self, changes: Changes) -> None:
        for family in self._families.values():
            family.image_changed(self._broker.turn.monotonic_ms, changes)

    def reconfigured(self, partition: Partition | None = None) -> None:
        """Apply changed settings, of the broker or of one partition's topic."""
        if partition is None:
            for family in self._families.values():
                family.reconfigured()
        elif partition.topic_partition.topic in self._families:
            self._families[partition.topic_partition.topic].reconfigured(partition.topic_partition.partition)

    def stop(self) -> None:
        """Drop all coordinators for good: transactions first, and then the groups in which they end."""
        self._is_stopped = True
        for family in reversed(self._families.values()):
            family.stop()
