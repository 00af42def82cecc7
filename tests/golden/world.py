"""A coordinator's machine under its real driver, over a log in memory that is written and read as bytes."""

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from tests.golden.literals import WALL_START_MS
from tests.unit.config.files import COMBINED, load

from tidelog.coordinator.group.coordinator import GroupCoordinator
from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.record_framing import RecordTypesById, decode_record, encode_key, encode_value
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue, TransactionalKeyValue, TransactionMarker
from tidelog.coordinator.transaction.coordinator import TransactionCoordinator
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.metadata.changes import Changes
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.image import MetadataImage
from tidelog.model.decisions import Record
from tidelog.model.errors import ErrorCode
from tidelog.server.replicated import Replicated

MAX_RECORD_BYTES = 1_048_588


class CountingEntropy:
    """A source of ids that differ from each other and are the same in every run."""

    def __init__(self) -> None:
        self._count = 0

    def random_bytes(self, size: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(size, "big")

    def random_below(self, bound: int) -> int:
        self._count += 1
        return self._count % bound


class MemoryLog:
    """A log in memory. Its committed records have been through the codec, so a replay loses whatever the bytes do not
    say."""

    def __init__(self, types: RecordTypesById) -> None:
        self._types = types
        self.written: list[Record] = []
        self.is_held = False  # the high watermark stays where it is
        self.fails = False
        self.high_watermark = 0
        self._staged: list[Record] = []

    @property
    def end_offset(self) -> int:
        return len(self.written) + len(self._staged)

    def append_steps(self, records: Sequence[Record], _wall_ms: int, *, is_atomic: bool) -> Generator[None, None, None]:
        self._staged += records
        yield from ()

    def commit(self, _now_ms: int, _wall_ms: int) -> bool:
        staged, self._staged = self._staged, []
        if self.fails:
            return False
        self.written += staged
        if not self.is_held:
            self.high_watermark = len(self.written)
        return True

    def committed(self) -> Iterator[list[Any]]:
        for message, version in self.written[: self.high_watermark]:
            yield [self.through_bytes(message, version)]

    def truncate_to_committed(self) -> None:
        del self.written[self.high_watermark :]

    def through_bytes(self, message: Any, version: int) -> Any:
        if isinstance(message, TransactionMarker):
            return message
        key, value = encode_key(message.key), encode_value(message.value, version)
        read = decode_record(self._types, key, value)
        if isinstance(message, TransactionalKeyValue):
            return TransactionalKeyValue(message.producer_id, message.producer_epoch, read.key, read.value)
        return KeyValue(read.key, read.value)


class World:
    """One coordinator and its clock. Everything that the coordinator says is collected in `heard`."""

    def __init__(self, kind: str, settings: dict[str, str], transaction_version: int, loaded: list[Record]) -> None:
        self.kind = kind
        self.config = load(COMBINED, settings)
        self.transaction_version = transaction_version
        self.now_ms = 0
        self.epoch = 0
        self.next_producer_id = 1000
        self.is_loading = False
        self.entropy = CountingEntropy()
        self.metadata = MetadataDraft(tracks_changes=True)
        self._metadata_offset = 0
        self.image: MetadataImage = self._freeze()[0]
        self.log = MemoryLog(TRANSACTION_RECORDS if kind == "transaction" else GROUP_RECORDS)
        self.log.written += loaded
        self.log.high_watermark = len(loaded)
        self.effects: list[Any] = []
        self.driver: Replicated[Any] = Replicated(
            self.log,
            ErrorCode.NOT_COORDINATOR,
            self._bug,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            self.effects.append,
        )
        self.start()

    @property
    def wall_ms(self) -> int:
        return WALL_START_MS + self.now_ms

    @property
    def machine(self) -> Any:
        assert self.driver.machine is not None, "the coordinator is gone; reload it first"
        return self.driver.machine

    def new_machine(self) -> Any:
        if self.kind == "transaction":
            return TransactionCoordinator(
                self.config,
                partition=0,
                coordinator_epoch=self.epoch,
                allocate_producer_id=self._allocate_producer_id,
                transaction_version=lambda: self.transaction_version,
                offsets_partition_for=lambda _group_id: 7,
                max_record_bytes=MAX_RECORD_BYTES,
            )
        return GroupCoordinator(GroupShard(self.config, self.entropy, self.image, 0, MAX_RECORD_BYTES))

    def start(self) -> None:
        machine = self.new_machine()
        self.driver.start(machine, self.log.committed(), machine.activate)
        self.turn()

    def reload(self) -> None:
        """Resign the leadership and gain it again: uncommitted records are lost, and so is all volatile state."""
        if not self.driver.is_idle:
            self.driver.drop()
        self.log.fails = False
        self.log.truncate_to_committed()
        self.epoch += 1
        self.start()

    def submit(self, request: CoordinatorRequest, heard: list[Any]) -> None:
        self.driver.submit(self.now_ms, request, heard.append)
        self.turn()

    def turn(self) -> None:
        """Run turns of the driver until nothing is left to do at the present time."""
        if self.is_loading:
            return
        self.driver.turn(self.now_ms, self.wall_ms, lambda: False)
        while self.driver.has_work or self.next_deadline(self.now_ms) is not None:
            self.driver.turn(self.now_ms, self.wall_ms, lambda: False)

    def next_deadline(self, until_ms: int) -> int | None:
        deadline = self.driver.deadline
        return None if deadline is None or deadline > until_ms else deadline

    def replay_metadata(self, *records: Any) -> None:
        for record in records:
            self.metadata.replay(record)
        self.image, changes = self._freeze()
        self.machine.image_changed(self.now_ms, self.image, changes)
        self.turn()

    def durable(self, machine: Any) -> dict[str, Any]:
        """Return the part of the printed state that a replay must bring back."""
        if self.kind == "transaction":
            found: dict[str, Any] = machine.durable()
            return found
        printed = machine.printed()
        groups = {name: _durable_group(group) for name, group in printed["groups"].items()}
        return {"groups": {name: each for name, each in groups.items() if each}, "offsets": printed["offsets"]}

    def replayed(self) -> Any:
        machine = self.new_machine()
        for messages in self.log.committed():
            for message in messages:
                machine.replay(message)
        return machine

    def _freeze(self) -> tuple[MetadataImage, Changes]:
        self._metadata_offset += 1
        return self.metadata.freeze(self._metadata_offset, 0, self.wall_ms), self.metadata.take_changes()

    def _allocate_producer_id(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id - 1

    def _bug(self, _request: Any, bug: Exception) -> None:
        raise bug


def _durable_group(printed: dict[str, Any]) -> Any:
    return printed["committed"] if printed["type"] == "classic" else printed
