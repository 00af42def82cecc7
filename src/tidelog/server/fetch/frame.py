"""The positions of fields in the frames of fetch requests and responses of one version.

A request has a head (limits, isolation, session), its topics with a block of fixed size for each partition, and a tail.
The blocks are what `repeated_fetch` compares. A response has a piece for each partition, which is kept where the
partition has nothing to send. Compiled by mypyc.
"""

from struct import Struct
from typing import Any, Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode_parts
from tidelog.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from tidelog.protocol.varint import varint
from tidelog.storage.log.reading import FetchIsolation

FIRST_WITH_LOG_START: Final = 5
FIRST_WITH_SESSION: Final = 7
FIRST_WITH_LEADER_EPOCH: Final = 9
FIRST_FLEXIBLE: Final = 12
FIRST_BY_ID: Final = 13
FIRST_WITHOUT_REPLICA_ID: Final = 15
UUID_BYTES: Final = 16
_I16: Final = Struct(">h")
_I32: Final = Struct(">i")
_INDEX_MARK: Final = 0x5AFE_5AFE  # found again in what is encoded, to learn where a piece begins


class Block:
    """What one block of a request asks for: one partition."""

    __slots__ = ("fetch_offset", "last_fetched_epoch", "leader_epoch", "max_bytes", "partition")

    def __init__(self, partition: int, leader_epoch: int, offset: int, last_epoch: int, max_bytes: int) -> None:
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.fetch_offset = offset
        self.last_fetched_epoch = last_epoch
        self.max_bytes = max_bytes


class RequestLayout:
    """The body of a fetch request of one version."""

    __slots__ = ("_block", "_has_epoch", "_has_id", "block_bytes", "head_bytes", "is_flexible")

    def __init__(self, version: int) -> None:
        self.is_flexible = version >= FIRST_FLEXIBLE
        self._has_id = version >= FIRST_BY_ID
        self._has_epoch = version >= FIRST_WITH_LEADER_EPOCH
        # Replica id, wait, least and most bytes, isolation; session and its epoch.
        self.head_bytes = 17 if version < FIRST_WITH_SESSION else 25 if version < FIRST_WITHOUT_REPLICA_ID else 21
        if version >= FIRST_FLEXIBLE:
            self._block = Struct(">iiqiqiB")  # the last are the tagged fields, of which there must be none
        elif version >= FIRST_WITH_LEADER_EPOCH:
            self._block = Struct(">iiqqi")
        else:
            self._block = Struct(">iqqi" if version >= FIRST_WITH_LOG_START else ">iqi")
        self.block_bytes = self._block.size

    def count_at(self, data: bytes, position: int) -> tuple[int, int]:
        """Read the length of an array; return it and the position after it. The length is -1 where no client would send
        it."""
        if not self.is_flexible:
            if position + 4 > len(data):
                return -1, position
            (count,) = _I32.unpack_from(data, position)
            return count, position + 4
        value = shift = 0
        while position < len(data) and shift < 28:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value - 1, position
            shift += 7
        return -1, position

    def after_topic(self, data: bytes, position: int) -> int:
        """Return the position behind the name or id of a topic; -1 where the data end before."""
        if self._has_id:
            after = position + UUID_BYTES
        elif self.is_flexible:
            length, after = self.count_at(data, position)
            if length < 0:
                return -1
            after += length
        else:
            if position + 2 > len(data):
                return -1
            (length,) = _I16.unpack_from(data, position)
            if length < 0:
                return -1
            after = position + 2 + length
        return after if after <= len(data) else -1

    def read_block(self, block: bytes) -> Block | None:
        """Read one block; None where it has tagged fields."""
        fields = self._block.unpack(block)
        if self.is_flexible:
            index, epoch, offset, last_epoch, _start, max_bytes, tags = fields
            return None if tags else Block(index, epoch, offset, last_epoch, max_bytes)
        if self._has_epoch:
            return Block(fields[0], fields[1], fields[2], -1, fields[-1])
        return Block(fields[0], -1, fields[1], -1, fields[-1])


class ResponseLayout:
    """The body of a fetch response without a session, of one version and isolation."""

    __slots__ = ("_after_offsets", "_before_piece", "_has_log_start", "_is_flexible", "_offsets", "_version", "before")

    def __init__(self, version: int, isolation: FetchIsolation) -> None:
        self._version = version
        self._is_flexible = version >= FIRST_FLEXIBLE
        self._has_log_start = version >= FIRST_WITH_LOG_START
        aborted: list[Any] | None = [] if isolation is FetchIsolation.TXN_COMMITTED else None
        data = PartitionData(
            partition_index=_INDEX_MARK,
            error_code=ErrorCode.NONE,
            high_watermark=0,
            aborted_transactions=aborted,
            records=b"",
        )
        (encoded,) = self._encoded(data)
        self._before_piece = encoded.index(_I32.pack(_INDEX_MARK))
        self._offsets = Struct(">ihqqq" if self._has_log_start else ">ihqq")
        end = len(encoded) - 2 if self._is_flexible else len(encoded)  # the tagged fields of the topic and of the whole
        self._after_offsets: bytes = encoded[self._before_piece + self._offsets.size : end]
        head = Struct(">ihi" if version >= FIRST_WITH_SESSION else ">i")  # throttle time, error, session
        self.before = bytes(head.size)

    def _encoded(self, data: PartitionData) -> list[Any]:
        named = FetchableTopicResponse(partitions=[data])
        return encode_parts(FetchResponse(throttle_time_ms=0, responses=[named]), self._version)

    def count(self, number: int) -> bytes:
        """Encode the length of an array."""
        return varint(number + 1) if self._is_flexible else _I32.pack(number)

    @property
    def after_array(self) -> bytes:
        """The bytes behind the partitions of a topic, and behind the topics: no tagged fields."""
        return b"\0" if self._is_flexible else b""

    def empty_piece(self, data: PartitionData) -> bytes:
        """Encode a partition that has neither an error nor records to send."""
        high_watermark, stable = data.high_watermark, data.last_stable_offset
        if self._has_log_start:
            numbers = self._offsets.pack(data.partition_index, 0, high_watermark, stable, data.log_start_offset)
        else:
            numbers = self._offsets.pack(data.partition_index, 0, high_watermark, stable)
        return numbers + self._after_offsets

    def piece(self, data: PartitionData) -> list[Any]:
        """Encode any other partition; return the parts, of which one may be a range of a file."""
        parts = self._encoded(data)
        parts[0] = parts[0][self._before_piece :]
        if self._is_flexible:
            parts[-1] = parts[-1][:-2]
        return parts
