"""The answers that clients got from a node's coordinators, and what the node has to keep of them after it died.

- a committed offset that was acknowledged is there, with its leader epoch and metadata, unless a later one is; what was
  not answered may be there instead; "no offset" is no answer once there is one
- a transaction is all or nothing, over its partitions and its offsets: committed if its commit was acknowledged,
  aborted if its abort was, or if nobody ever asked for the commit; either, but the same everywhere, if nobody was
  answered
- a read_committed reader sees each record of a committed transaction once, in order, and none of another
- a partition has one owner at a time, as long as its owner is heard of; commits of former owners are refused

After a power loss without `flush.messages=1` (`forgive`) each log may have lost its end, one more than another: an
offset may be any that was ever sent, or none, and a transaction may be there in part. What is left is still what
somebody sent, in order, each once; every coordinator loads, and what is decided from then on is carried out.
"""

from dataclasses import dataclass, field

Place = tuple[str, int]  # topic and partition
Committed = tuple[int, int, str]  # offset, leader epoch, metadata


@dataclass
class Acknowledged:
    value: Committed
    sent_ms: int
    acknowledged_ms: int
    owner: str
    epoch: int
    since_ms: int  # when the owner heard of its epoch


@dataclass
class Commits:
    """The commits of one group for one partition."""

    history: dict[Committed, None] = field(default_factory=dict)  # every commit that was ever sent
    last: list[Acknowledged] = field(default_factory=list)  # the last acknowledged, or several that overlapped
    unsure: dict[Committed, None] = field(default_factory=dict)  # not answered: each may have taken effect, or may yet
    may_be_none: bool = True

    def send(self, value: Committed) -> None:
        self.history[value] = self.unsure[value] = None

    def acknowledge(self, now: Acknowledged) -> None:
        for each in self.last:
            is_later = now.since_ms < each.acknowledged_ms < now.sent_ms
            is_former_owner = is_later and each.owner != now.owner and each.epoch > now.epoch
            assert not is_former_owner, f"{now} was accepted after {each}"
        self.unsure.pop(now.value, None)
        self.last = [each for each in self.last if each.acknowledged_ms >= now.sent_ms] + [now]
        self.may_be_none = False

    def refuse(self, value: Committed) -> None:
        self.unsure.pop(value, None)

    def see(self, found: Committed | None) -> None:
        if found is None:
            assert self.may_be_none, f"no offset, and there was one: {self.last}"
        else:
            possible = [*(each.value for each in self.last), *self.unsure]
            assert found in possible, f"{found} is none of {possible}"

    def settle(self, found: Committed | None) -> None:
        """See a value read from a node that was started anew, which no earlier request can reach any more."""
        self.see(found)
        self.unsure.clear()
        if found is not None:
            known = [each for each in self.last if each.value == found]
            self.last = known or [Acknowledged(found, -1, -1, "", -1, -1)]
            self.may_be_none = False

    def forgive(self) -> None:
        """Accept any state: the power failed and nothing was synced, so the offset may be any former one, or none."""
        self.unsure, self.last, self.may_be_none = dict(self.history), [], True


@dataclass
class Transaction:
    producer: str
    number: int
    values: dict[Place, list[bytes]] = field(default_factory=dict)  # acknowledged records
    offsets: bool = False  # the group's offset was set to `number` in it
    asked_to_commit: bool = False
    outcome: bool | None = None  # the outcome that the client was told
    is_forgiven: bool = False

    def see(self) -> None:
        """Check that a read_committed reader may see a record of this transaction."""
        assert self.is_forgiven or self.asked_to_commit, f"{self} was never committed, and its records are seen"
        assert self.is_forgiven or self.outcome is not False, f"{self} was aborted, and its records are seen"

    def check(self, found: dict[Place, list[bytes]]) -> bool:
        """Check `found`, all the records of this transaction that are seen; return whether it was committed."""
        if self.is_forgiven:
            return bool(found)
        if found:
            self.see()
            assert found == self.values, f"{self} is there in part: {found}"
        else:
            assert not self.outcome, f"{self} was committed, and is gone"
        return bool(found)


@dataclass
class CoordinatorLedger:
    commits: dict[tuple[str, Place], Commits] = field(default_factory=dict)  # by group
    transactions: dict[tuple[str, int], Transaction] = field(default_factory=dict)  # by id and number
    last_stable_offsets: dict[Place, int] = field(default_factory=dict)
    read: dict[tuple[Place, int], bytes] = field(default_factory=dict)  # by offset, as read_committed readers saw it
    is_forgiven: bool = False  # never reset: a log may have lost the marker of a transaction that is over

    def of(self, group: str, topic_partition: Place) -> Commits:
        return self.commits.setdefault((group, topic_partition), Commits())

    def begin(self, producer: str, number: int) -> Transaction:
        transaction = Transaction(producer, number, is_forgiven=self.is_forgiven)
        return self.transactions.setdefault((producer, number), transaction)

    def see(self, topic_partition: Place, offset: int, value: bytes) -> None:
        known = self.read.setdefault((topic_partition, offset), value)
        assert known == value or self.is_forgiven, (
            f"{topic_partition} at {offset} was read as {known!r}, and now as {value!r}"
        )
        self.transactions[key_of(value)].see()

    def see_last_stable(self, topic_partition: Place, offset: int, least: int) -> None:
        is_back = offset < least and not self.is_forgiven
        assert not is_back, f"{topic_partition}: the last stable offset went back from {least} to {offset}"
        self.last_stable_offsets[topic_partition] = max(self.last_stable_offsets.get(topic_partition, 0), offset)

    def forgive(self) -> None:
        self.is_forgiven = True
        for commits in self.commits.values():
            commits.forgive()
        for transaction in self.transactions.values():
            transaction.is_forgiven = True
        self.last_stable_offsets.clear()
        self.read.clear()

    def check(self, found: dict[Place, list[bytes]], offsets: dict[str, int]) -> None:
        """Check `found`, all committed records in order, and `offsets`, those of the producers' groups."""
        by_transaction: dict[tuple[str, int], dict[Place, list[bytes]]] = {}
        for topic_partition, values in found.items():
            check_order(values)
            for value in values:
                by_transaction.setdefault(key_of(value), {}).setdefault(topic_partition, []).append(value)
        last: dict[str, int] = {}
        for key, transaction in self.transactions.items():
            if transaction.check(by_transaction.get(key, {})) and transaction.offsets:
                last[transaction.producer] = max(last.get(transaction.producer, -1), transaction.number)
        for producer, offset in offsets.items():
            assert self.is_forgiven or offset == last.get(producer, -1), f"{producer}: offset {offset}, not {last}"


def value_of(producer: str, number: int, index: int) -> bytes:
    return f"{producer}:{number}:{index}".encode()


def key_of(value: bytes) -> tuple[str, int]:
    producer, number, _index = value.decode().split(":")
    return producer, int(number)


def check_order(values: list[bytes]) -> None:
    """Check that each record is there once, in the order in which its producer wrote it."""
    last: dict[str, tuple[int, int]] = {}
    for value in values:
        producer, number, index = value.decode().split(":")
        at = (int(number), int(index))
        assert at > last.get(producer, (-1, -1)), f"{value!r} after {last[producer]}"
        last[producer] = at
