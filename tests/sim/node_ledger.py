"""The answers that clients got from a node, and what it has to keep of them after it died: the data path's invariants.

- what was acknowledged is at its offset; nothing is there that nobody sent, and nothing twice
- a record that somebody has read stays the same, and the high watermark that somebody has seen never goes back
- each idempotent producer's records lie in the order in which it sent them

After a power loss without `flush.messages=1` the first two hold only from then on (`forgive`).
"""

from dataclasses import dataclass, field

from tidelog.model.ids import Uuid

Replica = tuple[Uuid, int]  # topic id and partition


@dataclass
class PartitionLedger:
    sent: dict[bytes, int] = field(default_factory=dict)  # value to the number of its producer
    acknowledged: dict[int, bytes] = field(default_factory=dict)  # by offset
    read: dict[int, bytes] = field(default_factory=dict)  # by offset, as any client read it
    high_watermark: int = 0
    deleted_to: int = 0  # the highest offset that DeleteRecords was asked for

    def acknowledge(self, base_offset: int, values: list[bytes]) -> None:
        for offset, value in enumerate(values, base_offset):
            known = self.acknowledged.setdefault(offset, value)
            assert known == value, f"offset {offset} was acknowledged for {known!r}, and now for {value!r}"

    def see(self, offset: int, value: bytes) -> None:
        assert value in self.sent, f"offset {offset}: nobody sent {value!r}"
        known = self.read.setdefault(offset, value)
        assert known == value, f"offset {offset} was read as {known!r}, and now as {value!r}"

    def see_high_watermark(self, high_watermark: int, least: int) -> None:
        """Note a high watermark that a client was told. `least` was already known when the client asked."""
        assert high_watermark >= least, f"the high watermark went back from {least} to {high_watermark}"
        self.high_watermark = max(self.high_watermark, high_watermark)

    def forgive(self) -> None:
        self.acknowledged, self.read, self.high_watermark = {}, {}, 0

    def check(self, found: dict[int, bytes], log_start_offset: int) -> None:
        """Check `found`, the whole partition by offset."""
        assert log_start_offset <= self.deleted_to, f"begins at {log_start_offset}, deleted to {self.deleted_to}"
        lost = {
            offset: value
            for offset, value in self.acknowledged.items()
            if offset >= log_start_offset and found.get(offset) != value
        }
        assert not lost, f"acknowledged and lost: {lost}"
        assert len(set(found.values())) == len(found), "a record is there twice"
        for offset, value in found.items():
            self.see(offset, value)


@dataclass
class Ledger:
    partitions: dict[Replica, PartitionLedger] = field(default_factory=dict)
    # What the controller acknowledged; `unsure` has the names whose last request was not answered: either may be so.
    topics: dict[str, Uuid] = field(default_factory=dict)
    deleted: dict[Uuid, str] = field(default_factory=dict)
    unsure: dict[str, None] = field(default_factory=dict)
    configs: dict[str, list[str]] = field(default_factory=dict)  # by topic: acknowledged last, then others possible

    def of(self, topic_id: Uuid, partition: int) -> PartitionLedger:
        return self.partitions.setdefault((topic_id, partition), PartitionLedger())

    def forgive(self) -> None:
        for each in self.partitions.values():
            each.forgive()
