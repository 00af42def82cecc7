"""Everything that a coordinator's log holds, as the messages that its machine replays, a slice at a time.

Read to the end of the log and not only to the high watermark: a leader commits all that it has, sooner or later, and
until then the driver holds back every answer that rests on it.

Plain batches, which nearly all are, go through the compiled decoder as long as they follow one another; compressed and
transactional ones are read one by one. What is not in the page cache is warmed by a helper first, and the loading waits
for that (`is_waiting`) instead of the loop.

A record of a type that this release does not know was left by a newer one, and is passed over. Anything else that can
not be read is damage (LoadFailed): to go on without it would be to forget what was acknowledged.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tidelog.coordinator.record_framing import RecordTypesById, decode_record
from tidelog.coordinator.requests import KeyValue, LogMessage, TransactionalKeyValue, TransactionMarker
from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Ticket
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.stored import UnknownRecordType
from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.control import ControlRecordType, read_control_type, read_marker
from tidelog.records.errors import RecordError
from tidelog.records.header import COMPRESSION_MASK, CONTROL_FLAG, MAX_INT64, TRANSACTIONAL_FLAG
from tidelog.records.kernels_decode import NULL_VALUE, Columns, decode, is_null
from tidelog.records.kernels_walk import BatchIndex, walk
from tidelog.server.partition import Partition
from tidelog.storage.log_read import FetchIsolation, LogRead, read

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

READ_BYTES: Final = 256 << 10
# Handed over at once: about a millisecond of decoding and as much of replaying.
MESSAGES_A_SLICE: Final = 250
ROWS_A_RUN: Final = 2_000
NOT_PLAIN: Final = COMPRESSION_MASK | TRANSACTIONAL_FLAG | CONTROL_FLAG


# Decodes rows of a kind that its log is full of, from one to another at most: a message for the machine, and the first
# row that is no part of it.
LoadRun: TypeAlias = Callable[[Columns, int, int], tuple[Any, int]]


class LoadFailed(Exception):
    """The log can not be read to its end."""


class Loading:
    def __init__(
        self,
        broker: "Broker",
        partition: Partition,
        types: RecordTypesById,
        on_unknown: Callable[[int], None],
        load_run: LoadRun | None = None,
    ) -> None:
        """`on_unknown` hears of each type that is passed over, once."""
        self._broker = broker
        self._partition = partition
        self._types = types
        self._on_unknown = on_unknown
        self._load_run = load_run
        self._unknown: dict[int, None] = {}
        self.is_waiting = False  # for the disk

    def warmed(self, _ticket: Ticket) -> None:
        self.is_waiting = False
        self._broker.coordinators.wake(self._partition)

    def slices(self) -> Iterator[list[Any]]:
        offset = self._partition.log.log_start_offset
        try:
            while (found := self._read(offset)).segment is not None:
                if self._begin_warm(found):
                    while self.is_waiting:
                        yield []
                    found = self._read(offset)
                buffer = found.read_all()
                index = walk(buffer, 0, len(buffer))
                if not len(index):
                    raise LoadFailed(f"offset {offset}: a batch that is longer than the segment")
                yield from self._messages(buffer, index)
                offset = index.last_offsets[len(index) - 1] + 1
        except (RecordError, ProtocolError, StorageFault) as damage:
            raise LoadFailed(f"near offset {offset}: {damage}") from damage

    def _read(self, offset: int) -> LogRead:
        log = self._partition.log
        found = read(log, max(offset, log.log_start_offset), READ_BYTES, FetchIsolation.LOG_END)
        if found.code is not ErrorCode.NONE:
            raise LoadFailed(f"offset {offset} can not be read: {found.code.name}")
        return found

    def _begin_warm(self, found: LogRead) -> bool:
        if found.is_cached():
            return False
        self.is_waiting = True
        self._broker.when_warm(found.begin_warm(), self)
        return True

    # From bytes to messages

    def _messages(self, buffer: bytes, index: BatchIndex) -> Iterator[list[Any]]:
        for start, end, is_plain in _runs(index):
            if is_plain:
                yield from self._plain(decode(buffer, start, end, 0, MAX_INT64, 1, True))
            else:
                batch = read_batch(buffer, start)
                assert batch is not None, "the index has whole batches only"
                batch.check_crc()
                yield from _sliced(_markers(batch) if batch.header.is_control else self._records(batch))

    def _plain(self, columns: Columns) -> Iterator[list[Any]]:
        """All rows of some batches: runs of what the log mostly holds at once, the others one by one."""
        positions = memoryview(columns.positions)
        messages: list[Any] = []
        row, rows, weight = 0, len(columns), 0
        while row < rows:
            after = row
            if self._load_run is not None:
                run, after = self._load_run(columns, row, min(rows, row + ROWS_A_RUN))
            if after > row:
                messages.append(run)
                weight += (after - row) * MESSAGES_A_SLICE // ROWS_A_RUN
            else:
                after, weight = row + 1, weight + 1
                messages += self._decode_row(columns, positions, row)
            row = after
            if weight >= MESSAGES_A_SLICE:
                yield messages
                messages, weight = [], 0
        yield messages

    def _decode_row(self, columns: Columns, positions: memoryview, row: int) -> list[LogMessage]:
        """Nothing where it is passed over."""
        key, key_end, value, value_end = positions[4 * row : 4 * row + 4]
        is_tombstone = columns.null_values > 0 and is_null(columns, row, NULL_VALUE)
        found = self._decode(columns.data[key:key_end], None if is_tombstone else columns.data[value:value_end])
        return [] if found is None else [KeyValue(found[0], found[1])]

    def _records(self, batch: RecordBatch) -> Iterator[LogMessage | None]:
        """None for what is passed over: that takes time, too."""
        header = batch.header
        for record in batch.records():
            found = self._decode(record.key or b"", record.value)
            if found is None:
                yield None
            elif header.is_transactional:
                yield TransactionalKeyValue(header.producer_id, header.producer_epoch, found[0], found[1])
            else:
                yield KeyValue(found[0], found[1])

    def _decode(self, key: bytes, value: bytes | None) -> tuple[Any, Any] | None:
        try:
            record = decode_record(self._types, key, value)
        except UnknownRecordType as unknown:
            if unknown.record_type not in self._unknown:
                self._unknown[unknown.record_type] = None
                self._on_unknown(unknown.record_type)
            return None
        return record[0], record[1]


def _runs(index: BatchIndex) -> Iterator[tuple[int, int, bool]]:
    """Where to decode from and to: plain batches in a row, or one that is not plain."""
    positions = [*memoryview(index.positions).tolist(), index.end]
    attributes: list[int] = memoryview(index.attributes).tolist()
    first = 0
    for each, flags in enumerate(attributes):
        if flags & NOT_PLAIN:
            if first < each:
                yield positions[first], positions[each], True
            yield positions[each], positions[each + 1], False
            first = each + 1
    if first < len(attributes):
        yield positions[first], positions[-1], True


def _markers(batch: RecordBatch) -> Iterator[LogMessage]:
    """The log does not say under which version of the protocol a transaction was made; nobody asks again."""
    header = batch.header
    for record in batch.records():
        if read_control_type(record) in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
            marker = read_marker(record)
            yield TransactionMarker(
                header.producer_id, header.producer_epoch, marker.committed, marker.coordinator_epoch, 0
            )


def _sliced(messages: Iterator[LogMessage | None]) -> Iterator[list[LogMessage]]:
    while slice_ := list(islice(messages, MESSAGES_A_SLICE)):
        yield [message for message in slice_ if message is not None]
