"""The coordinators of this broker, of groups and of transactions, and their part in a turn of the loop.

They have it between the requests that a turn brought and its end, when everything is sent: what was asked in a turn is
decided, written and, on a partition of one replica, answered in it. What a decision brings about (a marker in another
coordinator's partition, say) is a new request, so they go round until nobody has anything to do, or the time is up.
"""

from typing import TYPE_CHECKING, Any, Final

from tidelog.metadata.changes import Changes
from tidelog.server.coordinator_family import CoordinatorFamily
from tidelog.server.coordinator_groups import GROUPS
from tidelog.server.coordinator_transactions import TRANSACTIONS
from tidelog.server.partition import Partition

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

# From a transaction's end to its last record is four rounds.
ROUNDS_MAX: Final = 16


class Coordinators:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._is_stopped = False
        self.groups = CoordinatorFamily(broker, GROUPS)
        self.transactions = CoordinatorFamily(broker, TRANSACTIONS)
        self.transactions.on_effect = broker.transactions.send_markers
        self._families: dict[str, CoordinatorFamily[Any]] = {
            GROUPS.topic: self.groups,
            TRANSACTIONS.topic: self.transactions,
        }

    # Turns

    @property
    def has_work(self) -> bool:
        return any(family.has_work for family in self._families.values())

    @property
    def deadline_ms(self) -> int | None:
        """When one of them wants a turn for the sake of time."""
        deadlines = [each.deadline_ms for each in self._families.values()]
        return min((each for each in deadlines if each is not None), default=None)

    def turn(self) -> None:
        turn = self._broker.turn
        now_ms, wall_ms = turn.monotonic_ms, turn.wall_ms
        for _ in range(ROUNDS_MAX):
            due = [family for family in self._families.values() if family.is_due(now_ms)]
            did = [family.turn(now_ms, wall_ms, turn.is_over) for family in due]
            did.append(self._broker.transactions.write_markers())
            if not any(did) or turn.is_over():
                return

    # What they follow

    def look(self, partition: Partition) -> None:
        """After every change of a partition that this broker hosts."""
        family = self._families.get(partition.topic_partition.topic)
        if family is not None and not self._is_stopped:
            family.look(partition)

    def wake(self, partition: Partition) -> None:
        family = self._families.get(partition.topic_partition.topic)
        if family is not None:
            family.wake(partition.topic_partition.partition)

    def image_changed(self, changes: Changes) -> None:
        for family in self._families.values():
            family.image_changed(self._broker.turn.monotonic_ms, changes)

    def reconfigured(self, partition: Partition | None = None) -> None:
        """The settings of the broker, or of one partition's topic, have changed."""
        if partition is None:
            for family in self._families.values():
                family.reconfigured()
        elif partition.topic_partition.topic in self._families:
            self._families[partition.topic_partition.topic].reconfigured(partition.topic_partition.partition)

    def stop(self) -> None:
        """For good, transactions before the groups in which they end."""
        self._is_stopped = True
        for family in reversed(self._families.values()):
            family.stop()
