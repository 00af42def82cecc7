"""The quick way for a produce request that looks like the one before it on its connection.

A producer repeats itself: the same client id, acks, timeout, topic and partition, and only the batch is new. After a
request with one batch for one partition (`learn`) the bytes around the batch are remembered; the next frame is compared
with them, in one comparison, instead of being parsed, and its answer is packed into the bytes of the last one.

Whatever does not fit goes the ordinary way: another shape, a transactional batch, a partition that has moved; and so do
the answers to batches that are refused or have to wait. A path is forgotten when the metadata change
(`Broker.generation`), since what it remembers of topic and leader is of that time.
"""

from struct import Struct
from typing import TYPE_CHECKING, Final

from tidelog.ports.errors import StorageFault
from tidelog.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.protocol.server_connection import Request, encode_response
from tidelog.records.header import NO_TIMESTAMP
from tidelog.server.hosting.partition import ALL_REPLICAS, Partition
from tidelog.server.requests.handler import RequestContext
from tidelog.storage.append.outcome import Refused, TooHeavy
from tidelog.storage.log.group_commit import Append

if TYPE_CHECKING:
    from tidelog.server.handlers.produce import DelayedProduce
    from tidelog.server.requests.connection import ClientConnection

FIRST_FLEXIBLE = 9
FIRST_WITH_ZSTD = 7
FIRST_WITH_LOG_START = 5
_CORRELATION_AT: Final = 4  # in a frame's body, as in a response with its size
_AFTER_CORRELATION: Final = 8
_TRAILER: Final = b"\0\0\0"  # no tagged fields of partition, topic and request
_BASE_OFFSET: Final = 0x5AFE_5AFE_5AFE_5AFE  # found again in an encoded response, to learn where the offsets go
_SMALLEST_BATCH: Final = 61
_ATTRIBUTES_AT: Final = 22  # their low byte, in a batch
_TRANSACTIONAL: Final = 0x10
_CODEC: Final = 0x07

_I32: Final = Struct(">i")
_KEY_VERSION_CORRELATION: Final = Struct(">hhi")


class ProducePath:
    """What is remembered of the last produce request of a connection, and of its answer."""

    __slots__ = (
        "_after",
        "_allows_zstd",
        "_batch_after",
        "_before",
        "_generation",
        "_has_log_start",
        "_is_flexible",
        "_prefix",
        "_response",
        "_size",
        "acks",
        "client_id",
        "partition",
        "timeout_ms",
        "version",
    )

    def __init__(self, request: Request, body: ProduceRequest, partition: Partition, prefix: bytes, generation: int):
        self._generation = generation
        self.version = request.api_version
        self.client_id = request.client_id
        self.acks = body.acks
        self.timeout_ms = body.timeout_ms
        self.partition = partition
        self._is_flexible = self.version >= FIRST_FLEXIBLE
        self._allows_zstd = self.version >= FIRST_WITH_ZSTD
        self._prefix = prefix
        self._batch_after = _AFTER_CORRELATION + len(prefix)  # the batch's position in a frame, from its API key on
        self._learn_response(body)

    def _learn_response(self, body: ProduceRequest) -> None:
        """Encode an answer once, and remember the bytes around its offsets."""
        topic = body.topic_data[0]
        answer = PartitionProduceResponse(
            index=self.partition.topic_partition.partition,
            error_code=0,
            base_offset=_BASE_OFFSET,
            log_append_time_ms=-1,
            log_start_offset=-1,
        )
        response = ProduceResponse(
            responses=[TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=[answer])]
        )
        encoded = b"".join(encode_response(0, response, self.version))
        at = encoded.index(_BASE_OFFSET.to_bytes(8, "big"))
        self._has_log_start = self.version >= FIRST_WITH_LOG_START
        offsets = "qqq" if self._has_log_start else "qq"
        self._size = encoded[:_CORRELATION_AT]
        self._before = encoded[_AFTER_CORRELATION:at]
        self._after = encoded[at + 8 * len(offsets) :]
        self._response = Struct(f">4si{len(self._before)}s{offsets}{len(self._after)}s")

    def take(self, connection: "ClientConnection", start: int, end: int) -> bool:
        """Stage the batch of this frame; False where the frame has to be parsed."""
        receive = connection.receive
        buffer = receive.buffer
        position = start + self._batch_after
        if end - position < _SMALLEST_BATCH:
            return False  # what looks like our prefix may lie behind the frame
        key, version, correlation_id = _KEY_VERSION_CORRELATION.unpack_from(buffer, start)
        if key or version != self.version or not buffer.startswith(self._prefix, start + _AFTER_CORRELATION):
            return False
        if self._is_flexible:
            length, position = _compact_length(buffer, position)
            end -= len(_TRAILER)
            if not buffer.startswith(_TRAILER, end):
                return False
        else:
            (length,) = _I32.unpack_from(buffer, position)
            position += 4
        if position + length != end or buffer[position + _ATTRIBUTES_AT] & _TRANSACTIONAL:
            return False
        return self._append(connection, correlation_id, receive.view, position, end)

    def _append(
        self, connection: "ClientConnection", correlation_id: int, view: memoryview, position: int, end: int
    ) -> bool:
        partition, turn = self.partition, connection.turn
        if connection.broker.generation != self._generation:
            connection.produce_path = None
            return False
        if self.acks == ALL_REPLICAS and partition.is_under_min_isr:
            return False
        append: Append | Refused
        try:
            append = partition.log.append_as_leader(
                view, position, end, partition.leader_epoch, turn.wall_ms, allows_zstd=self._allows_zstd, is_inline=True
            )
        except StorageFault as fault:  # a segment is read once, for its first timestamp
            append = connection.broker.append_fault(partition, fault)
        if isinstance(append, TooHeavy):
            connection.produce_path = None  # the next one is probably, too
            return False
        if view[position + _ATTRIBUTES_AT] & _CODEC or partition.log.rules.compression is not None:
            turn.credit = 0  # a few bytes may have been much work
        metrics = partition.metrics
        metrics.produces += 1
        sequence = connection.protocol.open_unread()
        if isinstance(append, Refused):  # perhaps after it was given its place: it must not be looked at a second time
            metrics.failed_produces += 1
            turn.produced.append(self.delayed(connection, sequence, correlation_id, append))
            return True
        turn.appended[partition] = None
        turn.quick.append((connection, sequence, correlation_id, append, self))
        metrics.bytes_in += end - position
        metrics.messages_in += append.last_offset - append.first_offset + 1
        return True

    def response(self, correlation_id: int, append: Append, log_start_offset: int) -> bytes:
        offset, time = append.first_offset, append.log_append_time
        if self._has_log_start:
            return self._response.pack(
                self._size, correlation_id, self._before, offset, time, log_start_offset, self._after
            )
        return self._response.pack(self._size, correlation_id, self._before, offset, time, self._after)

    def delayed(
        self, connection: "ClientConnection", sequence: int, correlation_id: int, outcome: Append | Refused
    ) -> "DelayedProduce":
        """Return the same request as the ordinary path knows it: it was refused, has to wait, or its write failed."""
        from tidelog.server.handlers.produce import DelayedProduce, Entry

        request = Request(sequence, 0, self.version, correlation_id, self.client_id, bytearray(), 0, 0)
        began_ns = connection.turn.began_ns
        context = RequestContext(connection, request, began_ns, began_ns)
        context.handled_ns = connection.broker.clock.monotonic_ns()  # what follows is waiting
        partition = self.partition
        entry = Entry(partition.topic_partition, partition.topic_id, partition, outcome)
        return DelayedProduce(context, self.acks, self.timeout_ms, [entry])


def learn(
    connection: "ClientConnection", request: Request, body: ProduceRequest, partition: Partition, frame_start: int
) -> None:
    """Remember the shape of a request that went the ordinary way, and succeeded, for the next of its connection."""
    records = body.topic_data[0].partition_data[0].records
    assert records is not None
    is_flexible = request.api_version >= FIRST_FLEXIBLE
    records_at = request.end - len(records) - (len(_TRAILER) if is_flexible else 0)
    length_at = records_at - (_compact_length_size(len(records)) if is_flexible else 4)
    prefix = bytes(request.buffer[frame_start + _AFTER_CORRELATION : length_at])
    connection.produce_path = ProducePath(request, body, partition, prefix, connection.broker.generation)


def _compact_length(buffer: bytearray, position: int) -> tuple[int, int]:
    """Read a compact length (one more than the bytes) of up to five bytes; return it and the position after it."""
    result = shift = 0
    for _ in range(5):
        byte = buffer[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result - 1, position
        shift += 7
    return NO_TIMESTAMP, position


def _compact_length_size(length: int) -> int:
    size, rest = 1, (length + 1) >> 7
    while rest:
        size += 1
        rest >>= 7
    return size
