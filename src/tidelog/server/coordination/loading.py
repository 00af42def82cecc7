"""Everything that a coordinator's log holds, as the messages that its machine replays, a slice at a time.

It is read to the end of the log and not only to the high watermark: a leader commits all that it has, sooner or later,
and until then the driver holds back every answer that rests on it.

Plain batches, which nearly all are, go through the compiled decoder as long as they follow one another; compressed and
transactional ones are read one by one. One that takes too long for a turn (an administrator's client may write what it
likes, and a directory may come from elsewhere) is inflated and cut into pieces by the batch workers. What is not in the
page cache is warmed by a helper first. The loading waits for either (`is_waiting`) instead of the loop.

A record of a type that this release does not know was left by a newer one, and is passed over. Anything else that can
not be read is damage (LoadFailed): to go on without it would be to forget what was acknowledged.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from tidelog.coordinator.record_framing import RecordTypesById, decode_record
from tidelog.coordinator.requests import KeyValue, LogMessage, TransactionalKeyValue, TransactionMarker
from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import StorageFault, TooManyOpenFiles
from tidelog.ports.files import Ticket
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.stored import UnknownRecordType
from tidelog.records.batch import RecordBatch, batches
from tidelog.records.control import ControlRecordType, read_control_type, read_marker
from tidelog.records.errors import RecordError
from tidelog.records.header import COMPRESSION_MASK, CONTROL_FLAG, MAX_INT64, TRANSACTIONAL_FLAG, BatchHeader
from tidelog.records.kernels_decode import NULL_VALUE, Columns, decode, is_null
from tidelog.records.kernels_walk import BatchIndex, walk
from tidelog.records.record import Record, read_records
from tidelog.server.hosting.partition import Partition
from tidelog.storage.append.batch_pieces import BatchPiece, PieceJob, inflated_within_turn
from tidelog.storage.append.outcome import Refused
from tidelog.storage.append.weight import INLINE_SENT_BYTES
from tidelog.storage.log.reading import FetchIsolation, LogRead, read

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.produce.preparations import Outcome

READ_BYTES: Final = 256 << 10
# Messages that are handed over at once: about a millisecond of decoding and as much of replaying.
MESSAGES_A_SLICE: Final = 250
ROWS_A_RUN: Final = 2_000
# A range that is not in the page cache after so many attempts to warm it is read all the same: the cache drops it as
# fast as it comes, or the disk can not read it, and then says so.
WARM_ROUNDS_MAX: Final = 8
# Plain batches of up to so many bytes are decoded at once. More than READ_BYTES is only ever read of a single batch.
PLAIN_BYTES_MAX: Final = INLINE_SENT_BYTES[0]
NOT_PLAIN: Final = COMPRESSION_MASK | TRANSACTIONAL_FLAG | CONTROL_FLAG


# Decodes rows of the kind that the log is full of, between two row numbers. Returns one message for the machine, and
# the first row that is no part of it.
LoadRun: TypeAlias = Callable[[Columns, int, int], tuple[Any, int]]


class LoadFailed(Exception):
    """The log can not be read, or not be understood, to its end; the text says which record it is, and what is
    wrong."""


class _Span(NamedTuple):
    """The offsets of the records that became one message."""

    first: int
    last: int

    def __str__(self) -> str:
        is_one = self.first == self.last
        return f"the record at offset {self.first}" if is_one else f"a record from offset {self.first} to {self.last}"


class Loading:
    """The loading of one coordinator's log."""

    def __init__(
        self,
        broker: "Broker",
        partition: Partition,
        types: RecordTypesById,
        on_unknown: Callable[[int], None],
        load_run: LoadRun | None = None,
    ) -> None:
        """`on_unknown` is called with each record type that is passed over, once."""
        self._broker = broker
        self._partition = partition
        self._types = types
        self._on_unknown = on_unknown
        self._load_run = load_run
        self._unknown: dict[int, None] = {}
        self._spans: list[_Span] = []  # the records behind each message of the last slice
        self._warm_rounds = 0  # how often the range that is read next was warmed
        self._piece: Outcome | None = None  # what a worker made of the batch that it has
        self._last_offset = -1  # the last offset in the pieces of that batch
        self.is_waiting = False  # for the disk, for descriptors, or for a batch worker

    def warmed(self, _ticket: Ticket) -> None:
        self.is_waiting = False
        self._broker.coordinators.wake(self._partition)

    def where(self, message: int) -> str:
        """Say which record, or records, a message of the last slice was made of."""
        return str(self._spans[message])

    def slices(self) -> Iterator[list[Any]]:
        """Yield the messages of the whole log, a slice at a time; an empty one while the loading waits."""
        offset = self._partition.log.log_start_offset
        while True:
            try:
                buffer = self._read_warm(offset)
                while self.is_waiting:
                    yield []
                if buffer is None:
                    continue
                if not buffer:
                    return
                index = walk(buffer, 0, len(buffer))
                if not len(index):
                    raise LoadFailed(f"offset {offset}: a batch that is longer than the segment")
                yield from self._messages(buffer, index)
            except (RecordError, StorageFault) as damage:
                if isinstance(damage, StorageFault):
                    self._broker.storage_fault(damage)
                raise LoadFailed(f"the batches from offset {offset} on can not be read: {damage}") from damage
            offset = index.last_offsets[len(index) - 1] + 1

    def _read_warm(self, offset: int) -> bytes | None:
        """Read the next batches. Empty at the end of the log; None: read again once `is_waiting` is over."""
        try:
            found = self._read(offset)
            if found.segment is not None and self._warm_rounds < WARM_ROUNDS_MAX and self._begin_warm(found):
                return None
            self._warm_rounds = 0
            return found.read_all()
        except TooManyOpenFiles:
            self._wait_for_descriptors()
            return None

    def _read(self, offset: int) -> LogRead:
        log = self._partition.log
        found = read(log, max(offset, log.log_start_offset), READ_BYTES, FetchIsolation.LOG_END)
        if found.code is not ErrorCode.NONE:
            raise LoadFailed(f"offset {offset} can not be read: {found.code.name}")
        return found

    def _wait_for_descriptors(self) -> None:
        """Wait until a helper could sync the directory, for which it needs a descriptor: by then there may be one for
        us."""
        log = self._partition.log
        self.is_waiting = True
        self._broker.when_warm(log.fs.begin_sync_directory(log.directory), self)

    def _begin_warm(self, found: LogRead) -> bool:
        if found.is_cached():
            return False
        self.is_waiting = True
        self._warm_rounds += 1
        self._broker.when_warm(found.begin_warm(), self)
        return True

    # From bytes to messages

    def _messages(self, buffer: bytes, index: BatchIndex) -> Iterator[list[Any]]:
        for start, end, is_plain in _runs(index):
            if is_plain and end - start <= PLAIN_BYTES_MAX:
                yield from self._plain(decode(buffer, start, end, 0, MAX_INT64, 1, True))
                continue
            for batch in batches(memoryview(buffer)[start:end]):
                batch.check_crc()
                body = inflated_within_turn(batch)
                if body is None and self._broker.preparations.has_workers:
                    yield from self._in_pieces(batch)
                else:
                    records = batch.records() if body is None else read_records(body, batch.header)
                    yield from self._sliced(self._entries(batch.header, records))

    def _in_pieces(self, batch: RecordBatch) -> Iterator[list[Any]]:
        """Yield the messages of a batch that takes longer than a turn: a worker hands over some of its records at a
        time."""
        whole, base_offset = bytes(batch.view), batch.header.base_offset
        position, records_before, self._last_offset = 0, 0, base_offset - 1
        while True:
            self._begin_piece(PieceJob(whole, position, records_before))
            while self.is_waiting:
                yield []
            piece = self._piece
            if isinstance(piece, Refused):
                raise LoadFailed(f"the batch at offset {base_offset} can not be read: {piece.message}")
            assert isinstance(piece, BatchPiece), "what was asked for"
            (cut,) = batches(piece.batch)
            yield from self._sliced(self._entries(cut.header, self._in_order(cut.records())))
            if piece.is_last:
                return
            position, records_before = piece.end, piece.records_before_end

    def _in_order(self, records: Iterator[Record]) -> Iterator[Record]:
        """Check that offsets ascend from one piece to the next. Within a piece, reading the records checks it."""
        for record in records:
            if record.offset <= self._last_offset:
                raise LoadFailed(f"the record at offset {record.offset} comes after offset {self._last_offset}")
            self._last_offset = record.offset
            yield record

    def _begin_piece(self, job: PieceJob) -> None:
        self.is_waiting = True
        self._broker.preparations.begin(job, self._heard)

    def _heard(self, outcome: "Outcome") -> None:
        self._piece = outcome
        self.is_waiting = False
        self._broker.coordinators.wake(self._partition)

    def _plain(self, columns: Columns) -> Iterator[list[Any]]:
        """Yield the messages of plain batches: of a run of rows like most of the log one message, of any other row one
        each."""
        positions = memoryview(columns.positions)
        messages: list[Any] = []
        self._spans = []
        row, rows, weight = 0, len(columns), 0
        while row < rows:
            after = row
            if self._load_run is not None:
                run, after = self._load_run(columns, row, min(rows, row + ROWS_A_RUN))
            if after > row:
                messages.append(run)
                self._spans.append(_Span(columns.offsets[row], columns.offsets[after - 1]))
                weight += (after - row) * MESSAGES_A_SLICE // ROWS_A_RUN
            else:
                after, weight = row + 1, weight + 1
                messages += self._decode_row(columns, positions, row)
            row = after
            if weight >= MESSAGES_A_SLICE:
                yield messages
                messages, weight, self._spans = [], 0, []
        yield messages

    def _decode_row(self, columns: Columns, positions: memoryview, row: int) -> list[LogMessage]:
        """Return the message of one row; nothing where the row is passed over."""
        key, key_end, value, value_end = positions[4 * row : 4 * row + 4]
        is_tombstone = columns.null_values > 0 and is_null(columns, row, NULL_VALUE)
        offset = columns.offsets[row]
        found = self._decode(offset, columns.data[key:key_end], None if is_tombstone else columns.data[value:value_end])
        if found is None:
            return []
        self._spans.append(_Span(offset, offset))
        return [KeyValue(found[0], found[1])]

    def _entries(self, header: BatchHeader, records: Iterator[Record]) -> Iterator[tuple[int, LogMessage | None]]:
        """Yield a batch's messages with their offsets; None for a record that is passed over, because that takes time,
        too."""
        return _markers(header, records) if header.is_control else self._key_values(header, records)

    def _key_values(self, header: BatchHeader, records: Iterator[Record]) -> Iterator[tuple[int, LogMessage | None]]:
        for record in records:
            found = self._decode(record.offset, record.key or b"", record.value)
            message: LogMessage | None = None
            if found is not None and header.is_transactional:
                message = TransactionalKeyValue(header.producer_id, header.producer_epoch, found[0], found[1])
            elif found is not None:
                message = KeyValue(found[0], found[1])
            yield record.offset, message

    def _decode(self, offset: int, key: bytes, value: bytes | None) -> tuple[Any, Any] | None:
        try:
            record = decode_record(self._types, key, value)
        except UnknownRecordType as unknown:
            if unknown.record_type not in self._unknown:
                self._unknown[unknown.record_type] = None
                self._on_unknown(unknown.record_type)
            return None
        except (ProtocolError, ValueError) as damage:
            raise LoadFailed(f"the record at offset {offset} can not be read: {damage}") from damage
        return record[0], record[1]

    def _sliced(self, messages: Iterator[tuple[int, LogMessage | None]]) -> Iterator[list[LogMessage]]:
        while slice_ := list(islice(messages, MESSAGES_A_SLICE)):
            kept = [(_Span(offset, offset), message) for offset, message in slice_ if message is not None]
            self._spans = [span for span, _message in kept]
            yield [message for _span, message in kept]


def _runs(index: BatchIndex) -> Iterator[tuple[int, int, bool]]:
    """Yield positions to decode from and to, and whether what lies between is plain: plain batches in a row, or one
    that is not."""
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


def _markers(header: BatchHeader, records: Iterator[Record]) -> Iterator[tuple[int, LogMessage | None]]:
    """Yield the markers of a control batch. The log does not say which transaction version they were written by, and
    nobody asks for it again."""
    for record in records:
        if read_control_type(record) in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
            marker = read_marker(record)
            yield (
                record.offset,
                TransactionMarker(
                    header.producer_id, header.producer_epoch, marker.committed, marker.coordinator_epoch, 0
                ),
            )
