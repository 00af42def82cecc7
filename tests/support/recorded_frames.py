"""Frames of requests as a client would send them, of every API and version that a listener advertises.

They name topics, partitions and batches that exist, so that a handler gets as far as it can; `mutated` then changes a
frame the way bad memory, bad clients and bad people do.
"""

import struct
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from tests.support.message_builder import MessageBuilder, seed_of, smallest

from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.messages.registry import REQUESTS, RESPONSES
from tidelog.protocol.schema import FieldSchema, Wire, schema_of
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType

TOPICS = ("plain", "compacted", "other.name", "other_name", "")
BUILDS_A_VERSION = 3
NUMBERS: dict[str, Sequence[int]] = {
    "acks": (-1, 0, 1, 1),
    "max_wait_ms": (0, 0, 5),
    "timeout_ms": (0, 10),
    "min_bytes": (0, 1),
    "session_id": (0, 0, 1),
    "session_epoch": (-1, 0, 1),
    "replica_id": (-1, -1, -2),
    "timestamp": (-6, -5, -4, -3, -2, -1, 0, 1_000),
    "fetch_offset": (0, 1, 2, -1),
    "resource_type": (2, 4, 8, 16, 32, 0),
    "num_partitions": (-1, 1, 3, 0),
    "count": (1, 2, 4),
    "replication_factor": (-1, 1, 2),
    "config_operation": (0, 1, 2, 3),
    "endpoint_type": (1, 2),
    "broker_id": (7, 1),
    "generation_id": (-1, 0, 1, 2),
    "generation_id_or_member_epoch": (-1, 0, 1, 2),
    "member_epoch": (-2, -1, 0, 0, 1, 2),
    "session_timeout_ms": (0, 6_000, 10_000),
    "rebalance_timeout_ms": (-1, 1_000),
    "transaction_timeout_ms": (0, 1_000),
    "producer_id": (-1, 0, 0, 1),
    "producer_epoch": (-1, 0, 0, 1),
    "committed_offset": (-1, 0, 7),
}
PARTITIONS = ("partition", "partition_index", "partition_indexes", "partitions", "index")
NAMES = ("name", "topic", "topics", "topic_names", "topic_name")
CONFIGS = ("retention.ms", "cleanup.policy", "max.message.bytes", "no.such.setting")
VALUES = ("1000", "compact", "delete,compact", "-1", "x", None)
_SIZE = struct.Struct(">i")


def batches() -> list[bytes]:
    found = []
    for codec in CompressionType:
        builder = BatchBuilder(options=BatchOptions(compression=codec))
        for index in range(3):
            builder.append(1_000 + index, b"key", b"value" * index)
        found.append(bytes(builder.build()))
    return found


class Recorder:
    """A source of frames. `ids` are topic ids that exist."""

    def __init__(self, ids: Sequence[bytes]) -> None:
        self._ids = [*ids, bytes(16)]
        self._batches = batches()

    def choices(self, field: FieldSchema) -> list[Any] | None:
        if field.wire is Wire.RECORDS:
            return self._batches
        if field.wire is Wire.UUID:
            return self._ids
        if field.name in PARTITIONS and field.wire is Wire.INT32:
            return [0, 0, 1, 7, -1]
        if field.name in NUMBERS:
            return list(NUMBERS[field.name])
        if field.name == "value" and field.wire is Wire.STRING:
            return [each for each in VALUES if each is not None]
        if field.wire is Wire.STRING:
            return [*TOPICS, *TOPICS, *CONFIGS, "1"]
        return None

    def frames_of(self, api_key: int, version: int) -> Iterator[bytes]:
        cls = REQUESTS[api_key]
        yield framed(smallest(cls), version)
        for build in range(BUILDS_A_VERSION):
            seed = seed_of(int(api_key), version, build)  # int: the text of an ApiKey is its name
            yield framed(MessageBuilder(version, seed, self.choices).build(cls), version)

    def all_frames(self, api_keys: Sequence[int]) -> list[bytes]:
        gone = [frame for version in range(3) for frame in [old_produce(version)] * 3] if 0 in api_keys else []
        return gone + [
            frame
            for api_key in api_keys
            for version in versions_of(api_key)
            for frame in self.frames_of(api_key, version)
        ]


def versions_of(api_key: int) -> range:
    versions = schema_of(REQUESTS[api_key]).versions
    return range(versions.lowest, versions.highest + 1)


def old_produce(version: int) -> bytes:
    """Return a Produce of a version that is advertised and not served: two topics, three partitions."""
    one = struct.pack(">ii", 0, 4) + b"data"
    topics = struct.pack(">ih", 2, 5) + b"plain" + struct.pack(">i", 2) + one + one
    topics += struct.pack(">h", 5) + b"other" + struct.pack(">i", 1) + one
    body = struct.pack(">hhih", 0, version, 1, 4) + b"fuzz" + struct.pack(">hi", 1, 1_000) + topics
    return _SIZE.pack(len(body)) + body


def framed(message: Any, version: int) -> bytes:
    """Return the request with its size in front, from a client with the id `fuzz`."""
    return b"".join(map(bytes, ClientConnection(RESPONSES, "fuzz").send(message, version)))


EDGES = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x00\x00", b"\xff", b"\x7f", b"\x00")


def mutated(frame: bytes, random: Random) -> bytes:
    """Return the frame changed in one to three places, mostly with the size of the result in front."""
    body = bytearray(frame[_SIZE.size :])
    for _ in range(random.choice((1, 1, 2, 3))):
        _mutate(body, random)
    size = len(body)
    if random.random() < 0.03:
        size = random.choice((-1, 0, size - 1, size + 1, 0x7FFF_FFFF, -0x8000_0000))
    return _SIZE.pack(size) + bytes(body)


def _mutate(body: bytearray, random: Random) -> None:
    at = random.randrange(len(body) + 1) if random.random() < 0.8 else random.randrange(min(12, len(body) + 1))
    match random.randrange(6):
        case 0 | 1:
            edge = random.choice(EDGES)
            body[at : at + len(edge)] = edge
        case 2:
            body[at : at + 1] = random.randbytes(1)
        case 3:
            del body[at:]
        case 4:
            del body[at : at + random.randrange(1, 9)]
        case 5:
            body[at:at] = body[at : at + random.randrange(1, 30)] or random.randbytes(4)
