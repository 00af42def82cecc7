"""The quick way for a fetch request that looks like the one before it on its connection.

A consumer of one partition repeats itself: the same client id, limits, topic and partition, and only the offset (and,
in a session, the epoch) is new. After such a request was answered at once (`learn`) the bytes around the two are
remembered; the next frame is compared with them instead of being parsed, and its answer is packed into the bytes of the
last one. The log remembers where the reader is (`storage.read_positions`), so that little is left to do but to send.

Whatever does not fit goes the ordinary way: another shape, a request that has to wait, an offset out of range, aborted
transactions, pages that have to be warmed, a partition that has moved. A path is forgotten when the metadata change
(`Broker.generation`), since what it remembers of topic and leader is of that time. Compiled by mypyc.
"""

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import StorageFault
from tidelog.protocol.api import ApiKey
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from tidelog.protocol.server_connection import Request, encode_response
from tidelog.server.fetch.partition_read import leader_of
from tidelog.server.fetch.session import NO_SESSION, FetchEntry, FetchSession
from tidelog.server.hosting.partition import Partition
from tidelog.storage.errors import ColdRead, CorruptSegmentError
from tidelog.storage.log.reading import FetchIsolation, LogRead, read, upper_bound

if TYPE_CHECKING:
    from tidelog.server.requests.connection import ClientConnection

FIRST_FLEXIBLE: Final = 12
FIRST_WITH_LOG_START: Final = 5
_FETCH: Final = int(ApiKey.FETCH)
_AFTER_CORRELATION: Final = 8  # in a frame, as in a response with its size
_KEY_VERSION_CORRELATION: Final = Struct(">hhi")
_SIZE_CORRELATION: Final = Struct(">ii")
_I32: Final = Struct(">i")
_I64: Final = Struct(">q")
_MARK: Final = 0x5AFE_5AFE_5AFE_5AFE  # found again in what is encoded, to learn where the numbers go
_SHORT_MARK: Final = 0x5AFE_5AFE


class _Template:
    """The bytes of an answer around the numbers in it."""

    __slots__ = ("_after", "_before", "_is_flexible", "_offsets", "_tail", "_tail_parts")

    def __init__(self, version: int, session_id: int, entry: FetchEntry, isolation: FetchIsolation) -> None:
        is_committed = isolation is FetchIsolation.TXN_COMMITTED
        data = PartitionData(
            partition_index=entry.request.partition,
            error_code=ErrorCode.NONE,
            high_watermark=_MARK,
            last_stable_offset=_MARK,
            log_start_offset=_MARK,
            aborted_transactions=[] if is_committed else None,
            records=b"r",
        )
        named = FetchableTopicResponse(topic=entry.topic_partition.topic, topic_id=entry.topic_id, partitions=[data])
        response = FetchResponse(throttle_time_ms=0, error_code=0, session_id=session_id, responses=[named])
        parts = encode_response(0, response, version)
        head: bytes = parts[0]
        self._is_flexible = version >= FIRST_FLEXIBLE
        self._tail: bytes = b"".join(parts[2:])
        self._tail_parts: list[Any] = [self._tail] if self._tail else []
        at = head.index(_MARK.to_bytes(8, "big"))
        self._offsets = Struct(">qqq" if version >= FIRST_WITH_LOG_START else ">qq")
        self._before: bytes = head[_AFTER_CORRELATION:at]
        self._after: bytes = head[at + self._offsets.size : len(head) - (1 if self._is_flexible else _I32.size)]

    def fill(self, correlation_id: int, partition: Partition, size_bytes: int, records: Any) -> list[Any]:
        """Return the parts of an answer with `size_bytes` of records."""
        log = partition.log
        high_watermark, stable = log.high_watermark, log.last_stable_offset
        if self._offsets.size == 16:
            offsets = self._offsets.pack(high_watermark, stable)
        else:
            offsets = self._offsets.pack(high_watermark, stable, log.log_start_offset)
        length = _compact(size_bytes + 1) if self._is_flexible else _I32.pack(size_bytes)
        body = self._before + offsets + self._after + length
        size = 4 + len(body) + size_bytes + len(self._tail)
        return [_SIZE_CORRELATION.pack(size, correlation_id) + body, records, *self._tail_parts]


def _compact(number: int) -> bytes:
    """Encode a number as an unsigned varint."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


class FetchPath:
    """What is remembered of the last fetch of a connection, and of its answer."""

    __slots__ = (
        "_after",
        "_before",
        "_between",
        "_entry",
        "_epoch_after",
        "_generation",
        "_isolation",
        "_leader_epoch",
        "_length",
        "_max_bytes",
        "_offset_after",
        "_partition",
        "_template",
        "_version",
        "_wanted_bytes",
    )

    def __init__(
        self,
        connection: "ClientConnection",
        version: int,
        frame: bytes,
        offset_at: int,
        epoch_at: int,
        body: FetchRequest,
        entry: FetchEntry,
        partition: Partition,
        isolation: FetchIsolation,
    ) -> None:
        broker = connection.broker
        request = entry.request
        self._version = version
        self._generation = broker.generation
        self._partition = partition
        self._leader_epoch = partition.leader_epoch
        self._isolation = isolation
        self._entry = entry
        self._length = len(frame)
        self._offset_after = offset_at
        self._epoch_after = epoch_at
        after_epoch = epoch_at + _I32.size if epoch_at else _AFTER_CORRELATION
        self._before = frame[_AFTER_CORRELATION:epoch_at] if epoch_at else b""
        self._between = frame[after_epoch:offset_at]
        self._after = frame[offset_at + _I64.size :]
        max_bytes = min(body.max_bytes, broker.limits.fetch_bytes_max)
        self._max_bytes = min(max_bytes, request.partition_max_bytes)
        self._wanted_bytes = min(body.min_bytes, max_bytes)
        self._template = _Template(version, entry.session.id, entry, isolation)

    def is_like(self, buffer: bytearray, start: int, end: int) -> bool:
        """Tell whether the frame differs from the remembered one in nothing but the offset and the session's epoch."""
        if end - start != self._length:
            return False
        offset_at, epoch_at = start + self._offset_after, start + self._epoch_after
        if self._epoch_after:
            if not buffer.startswith(self._before, start + _AFTER_CORRELATION):
                return False
            between_at = epoch_at + 4
        else:
            between_at = start + _AFTER_CORRELATION
        return buffer.startswith(self._between, between_at) and buffer.startswith(self._after, offset_at + 8)

    def is_all_of(self, session: FetchSession) -> bool:
        """Tell whether the session is still about this partition and no other: it may have grown, or have forgotten
        the partition and been told of it again, as another entry. A request without a session names all that it is
        about."""
        entry = self._entry
        is_known = len(session.partitions) == 1 and session.partitions.get(entry.key) is entry
        return is_known or session.id == NO_SESSION

    def take(self, connection: "ClientConnection", start: int, end: int) -> bool:
        """Answer the fetch in this frame; False where the frame has to be parsed."""
        buffer = connection.receive.buffer
        if end - start != self._length:
            return False
        key, version, correlation_id = _KEY_VERSION_CORRELATION.unpack_from(buffer, start)
        if key != _FETCH or version != self._version or not self.is_like(buffer, start, end):
            return False
        if connection.broker.generation != self._generation:
            connection.fetch_path = None
            return False
        partition, session = self._partition, self._entry.session
        is_ours = partition.is_leader and partition.is_online and partition.leader_epoch == self._leader_epoch
        if not is_ours or session.parked is not None:
            return False
        (offset,) = _I64.unpack_from(buffer, start + self._offset_after)
        found = self._read(partition, offset)
        if found is None:
            return False
        epoch = -1
        if session.id != NO_SESSION:
            (epoch,) = _I32.unpack_from(buffer, start + self._epoch_after)
            if epoch != session.epoch or session.unknown or not connection.broker.fetch_sessions.is_kept(session):
                return False
            if not self.is_all_of(session):
                connection.fetch_path = None
                return False
        return self._answer(connection, correlation_id, offset, epoch, found)

    def _read(self, partition: Partition, offset: int) -> LogRead | None:
        """Return what is to be sent; None where that is not enough, or the ordinary way has to find out more."""
        log = partition.log
        if not log.log_start_offset <= offset < upper_bound(log, self._isolation):
            return None
        try:
            found = read(log, offset, self._max_bytes, self._isolation, may_wait=False)
        except (ColdRead, CorruptSegmentError, StorageFault):
            return None
        is_enough = found.size_bytes >= self._wanted_bytes and found.size_bytes > 0
        return found if is_enough and found.may_pin and not found.aborted else None

    def _answer(
        self, connection: "ClientConnection", correlation_id: int, offset: int, epoch: int, found: LogRead
    ) -> bool:
        try:
            records = found.cached_range()
        except StorageFault:
            return False
        if records is None:
            return False
        partition, entry = self._partition, self._entry
        if entry.session.id != NO_SESSION:
            self._note(connection, entry.session, offset, epoch)
        sequence = connection.protocol.open_unread()
        parts = self._template.fill(correlation_id, partition, found.size_bytes, records)
        connection.complete_at_once(sequence, parts)
        metrics = partition.metrics
        metrics.fetches += 1
        metrics.bytes_out += found.size_bytes
        connection.turn.quick_fetches += 1
        return True

    def _note(self, connection: "ClientConnection", session: FetchSession, offset: int, epoch: int) -> None:
        """Bring the session to where the ordinary way would have left it."""
        sessions, entry, log = connection.broker.fetch_sessions, self._entry, self._partition.log
        sessions.use(session.id, epoch, session.by_id, connection.turn.monotonic_ms)
        sessions.used_by(session, connection)
        entry.request.fetch_offset = offset
        session.unsettled[entry] = None
        entry.told_high_watermark, entry.told_log_start = log.high_watermark, log.log_start_offset


def learn(
    connection: "ClientConnection",
    request: Request,
    body: FetchRequest,
    frame_start: int,
    session: FetchSession,
    isolation: FetchIsolation,
) -> None:
    """Remember the shape of a request of one partition that went the ordinary way, and was answered at once."""
    known = connection.fetch_path
    if known is not None and known.is_like(request.buffer, frame_start, request.end) and known.is_all_of(session):
        return
    connection.fetch_path = None
    is_plain = len(session.partitions) == 1 and len(body.topics) == 1 and not body.forgotten_topics_data
    if not is_plain or len(body.topics[0].partitions) != 1 or isolation is FetchIsolation.LOG_END:
        return
    entry = next(iter(session.partitions.values()))
    partition = leader_of(connection.broker, entry)
    if isinstance(partition, ErrorCode) or entry.request.last_fetched_epoch >= 0:
        return
    version = request.api_version
    if bytes(request.buffer[request.position : request.end]) != encode(body, version):
        return  # there is more in it than we know
    is_in_session = session.id != NO_SESSION
    offset_at, epoch_at = _marked(body, version, is_in_session)
    body_at = request.position - frame_start
    frame = bytes(request.buffer[frame_start : request.end])
    connection.fetch_path = FetchPath(
        connection,
        version,
        frame,
        body_at + offset_at,
        body_at + epoch_at if is_in_session else 0,
        body,
        entry,
        partition,
        isolation,
    )


def _marked(body: FetchRequest, version: int, is_in_session: bool) -> tuple[int, int]:
    """Return the positions of the offset and of the session's epoch in the encoded request."""
    partition = body.topics[0].partitions[0]
    offset, epoch = partition.fetch_offset, body.session_epoch
    partition.fetch_offset = _MARK
    if is_in_session:
        body.session_epoch = _SHORT_MARK
    encoded = encode(body, version)
    partition.fetch_offset, body.session_epoch = offset, epoch
    offset_at = encoded.index(_MARK.to_bytes(8, "big"))
    return offset_at, encoded.index(_SHORT_MARK.to_bytes(4, "big")) if is_in_session else 0
