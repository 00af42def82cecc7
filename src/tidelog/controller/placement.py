"""Which brokers get the replicas of new partitions.

Replicas are dealt out rack by rack, and within a rack broker by broker, each partition starting one further than the
one before: leaders and followers spread evenly, and no two replicas share a rack while another rack has room. A fenced
broker leads nothing and is taken only when its rack has no other left. After as many partitions as there are unfenced
brokers the order is shuffled, or the same brokers would always follow the same leader.
"""

from collections.abc import Iterable
from typing import Any

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.entropy import Entropy

NOBODY = -1


@dataclass(slots=True)
class UsableBroker:
    id: int
    rack: str | None
    is_fenced: bool


class Placement:
    """The brokers of one moment, dealt out to the partitions of one topic."""

    __slots__ = ("_entropy", "_first_rack", "_placed", "_racks", "_total", "_unfenced")

    def __init__(self, brokers: Iterable[UsableBroker], entropy: Entropy) -> None:
        by_rack: dict[str | None, list[UsableBroker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        names = sorted(by_rack, key=lambda rack: (rack is not None, rack or ""))
        self._entropy = entropy
        self._racks = [_Rack(by_rack[name], entropy) for name in names]
        self._total = sum(map(len, by_rack.values()))
        self._unfenced = sum(not broker.is_fenced for rack in by_rack.values() for broker in rack)
        self._first_rack = entropy.random_below(len(names)) if names else 0
        self._placed = 0

    def check(self, replication_factor: int) -> None:
        """Raise ApiError unless `place` can give out that many replicas."""
        if replication_factor <= 0:
            raise _impossible(replication_factor, "it must be at least 1")
        if not self._unfenced:
            raise _impossible(replication_factor, "every broker is fenced, shutting down or cordoned")
        if replication_factor > self._total:
            raise _impossible(replication_factor, f"only {self._total} broker(s) can take replicas")

    def place(self, replication_factor: int) -> list[int]:
        """Return the replicas of the next partition, the preferred leader first. `check` must have passed."""
        if self._placed and self._unfenced > 1 and self._placed % self._unfenced == 0:
            self._shuffle()
        if self._first_rack == len(self._racks):
            self._first_rack = 0
        leader, leader_rack = self._leader()
        replicas = [leader]
        if replication_factor > 1:
            self._add_followers(replicas, replication_factor, leader_rack)
        self._placed += 1
        self._first_rack += 1
        return replicas

    def _leader(self) -> tuple[int, int]:
        rack = self._first_rack
        while (leader := self._racks[rack].unfenced.take(self._placed)) == NOBODY:
            rack = (rack + 1) % len(self._racks)
        return leader, rack

    def _add_followers(self, replicas: list[int], replication_factor: int, leader_rack: int) -> None:
        rack = self._first_rack
        while len(replicas) < replication_factor:
            # The leader's rack is passed over once: it has had its replica of this round.
            if rack == leader_rack:
                leader_rack = NOBODY
            elif (broker := self._racks[rack].take(self._placed)) != NOBODY:
                replicas.append(broker)
            rack = (rack + 1) % len(self._racks)

    def _shuffle(self) -> None:
        _shuffle(self._racks, self._entropy)
        for rack in self._racks:
            rack.unfenced.shuffle(self._entropy)
            rack.fenced.shuffle(self._entropy)


class _Rack:
    __slots__ = ("fenced", "unfenced")

    def __init__(self, brokers: list[UsableBroker], entropy: Entropy) -> None:
        self.fenced = _Ring([broker.id for broker in brokers if broker.is_fenced], entropy)
        self.unfenced = _Ring([broker.id for broker in brokers if not broker.is_fenced], entropy)

    def take(self, partition: int) -> int:
        broker = self.unfenced.take(partition)
        return broker if broker != NOBODY else self.fenced.take(partition)


class _Ring:
    """Brokers in a circle. Every partition that takes any begins one further than the last that did, and goes round at
    most once.
    """

    __slots__ = ("_brokers", "_partition", "_start", "_taken")

    def __init__(self, brokers: list[int], entropy: Entropy) -> None:
        self._brokers = sorted(brokers)
        self._start = entropy.random_below(len(brokers)) if brokers else 0
        self._taken = 0
        self._partition = 0

    def take(self, partition: int) -> int:
        size = len(self._brokers)
        if not size:
            return NOBODY
        if self._partition != partition:
            self._partition = partition
            self._taken = 0
            self._start = (self._start + 1) % size
        if self._taken >= size:
            return NOBODY
        broker = self._brokers[(self._start + self._taken) % size]
        self._taken += 1
        return broker

    def shuffle(self, entropy: Entropy) -> None:
        _shuffle(self._brokers, entropy)


def _shuffle(items: list[Any], entropy: Entropy) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = entropy.random_below(last + 1)
        items[last], items[other] = items[other], items[last]


def _impossible(replication_factor: int, reason: str) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_REPLICATION_FACTOR, f"replication factor {replication_factor} cannot be had: {reason}"
    )
