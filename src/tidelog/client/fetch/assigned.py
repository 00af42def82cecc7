"""One partition that a consumer reads: where it is, what has been fetched ahead, and what is wrong with it.

position      the next offset that the caller gets
fetch offset  the next one to ask the broker for: ahead of the position by what is buffered
"""

from collections import deque
from typing import Final

from tidelog.client.errors import ClientError, CorruptRecords
from tidelog.client.fetch.decoding import records_of
from tidelog.client.record import ConsumerRecord
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.records.aborted import AbortedFilter
from tidelog.records.errors import RecordError
from tidelog.records.fetched import decode_fetched
from tidelog.records.header import MAX_INT64
from tidelog.records.kernels_walk import walk

AHEAD: Final = 2  # responses to buffer: one to read from, one for when that is used up


class FetchedRecords:
    """The records of one response, not decoded yet."""

    __slots__ = ("aborted", "data", "position")

    def __init__(self, data: bytes, aborted: AbortedFilter | None) -> None:
        self.data = data
        self.position = 0  # where the next batch to decode begins
        self.aborted = aborted


class AssignedPartition:
    def __init__(self, topic_partition: TopicPartition, topic_id: Uuid, start: int, *, verify_crc: bool) -> None:
        """Begin at `start`: an offset, or EARLIEST or LATEST, which is yet to be looked up."""
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.position = self.fetch_offset = start
        self.upper = MAX_INT64  # the offset before which to stop
        self.high_watermark = -1
        self.error: ClientError | None = None
        self.retry_at_ms = 0
        self.failing_since_ms: int | None = None
        self._verify_crc = verify_crc
        self._chunks: deque[FetchedRecords] = deque()
        self._ready: list[ConsumerRecord] = []
        self._handed_out = 0  # how many of `_ready` the caller has had
        self._after_ready = start

    @property
    def has_offset(self) -> bool:
        """Tell whether the position is an offset by now, not EARLIEST or LATEST."""
        return self.position >= 0

    def wants_data(self, now_ms: int) -> bool:
        has_room = len(self._chunks) < AHEAD and self.fetch_offset < self.upper
        return has_room and self.has_offset and self.error is None and now_ms >= self.retry_at_ms

    @property
    def is_full(self) -> bool:
        return len(self._chunks) >= AHEAD

    def seek(self, offset: int) -> None:
        """Go on at another offset, and forget what was fetched ahead. A response that is still to come is recognised as
        outdated by the offset that it was for."""
        self.position = self.fetch_offset = self._after_ready = offset
        self.error, self.retry_at_ms, self.failing_since_ms = None, 0, None
        self._chunks.clear()
        self._ready, self._handed_out = [], 0

    def received(self, data: bytes, aborted: AbortedFilter | None) -> None:
        """Buffer the records that a broker sent from the fetch offset on."""
        try:
            index = walk(data, 0, len(data))
        except RecordError as error:
            self.error = self._corrupt(error)
            return
        if not len(index):
            reason = f"{len(data)} bytes hold no whole batch"
            self.error = CorruptRecords(
                ErrorCode.CORRUPT_MESSAGE, f"fetch {self.topic_partition}", "the broker", reason
            )
            return
        self._chunks.append(FetchedRecords(data, aborted))
        self.fetch_offset = max(self.fetch_offset, index.last_offsets[len(index) - 1] + 1)

    def next_records(self, count: int) -> list[ConsumerRecord]:
        """Return the next records, `count` at most; an empty list where none is buffered."""
        while self._handed_out == len(self._ready):
            self.position = max(self.position, self._after_ready)
            if not self._chunks or self.position >= self.upper:
                return []
            self._decode(self._chunks[0])
        records = self._ready if self._handed_out == 0 and len(self._ready) <= count else self._slice(count)
        self._handed_out += len(records)
        self.position = records[-1].offset + 1
        return records

    def _slice(self, count: int) -> list[ConsumerRecord]:
        return self._ready[self._handed_out : self._handed_out + count]

    def _decode(self, chunk: FetchedRecords) -> None:
        try:
            fetched = decode_fetched(
                chunk.data,
                position=chunk.position,
                lower=self.position,
                upper=self.upper,
                aborted=chunk.aborted,
                verify_crc=self._verify_crc,
            )
        except RecordError as error:
            raise self._corrupt(error) from error
        self._ready, self._handed_out = records_of(self.topic_partition, fetched.columns), 0
        self._after_ready = fetched.next_offset
        is_used_up = fetched.next_position == chunk.position or fetched.next_position >= len(chunk.data)
        chunk.position = fetched.next_position
        if is_used_up:
            self._chunks.popleft()

    def _corrupt(self, error: RecordError) -> CorruptRecords:
        step = "read past the batch with an offset behind it, and see the broker's disk with `tidelog log verify`"
        asked = f"fetch {self.topic_partition} from offset {self.position}"
        return CorruptRecords(ErrorCode.CORRUPT_MESSAGE, asked, "the broker", str(error), step)
