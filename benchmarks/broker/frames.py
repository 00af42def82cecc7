"""The frames that the load tool sends: made once, here, so that the tool itself has nothing to do but send them.

Of versions that both brokers serve and whose answers have their fields at fixed places: Produce 7, Fetch 4.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import cramjam

from benchmarks.storage_batches import value
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.header import BATCH_OVERHEAD
from tidelog.records.lz4_frame import BLOCK_BYTES_MAX, USUAL_HEAD
from tidelog.records.patch import write_crc

PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION = 7, 4, 4
SMALL_VALUE_BYTES = 100
BULK_RECORDS = 900  # of 1 KB: under a megabyte, which both take by default and librdkafka makes of batch.size=1000000
FETCH_BYTES = 1 << 20
TIMEOUT_MS = 10_000
_MARK = 0x5EED_5EED_5EED_5EED  # an offset that is found again in the encoded frame
_LENGTH_POSITION = 8


@dataclass(slots=True)
class ProduceFrame:
    data: bytes
    payload_bytes: int  # of the records' values
    error_at: int  # in the answer


@dataclass(slots=True)
class FetchFrame:
    data: bytes
    offset_at: int
    records_at: int  # in the answer: where their length stands


def framed(request: object, version: int) -> bytes:
    return b"".join(ClientConnection({}, client_id="bench").send(request, version))


def produce_frame(topic: str, values: list[bytes], codec: CompressionType = CompressionType.NONE) -> ProduceFrame:
    data = PartitionProduceData(index=0, records=batch_of(values, codec))
    request = ProduceRequest(
        transactional_id=None,
        acks=1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    # Size, correlation id, topics, name, partitions, index.
    error_at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    return ProduceFrame(framed(request, PRODUCE_VERSION), sum(map(len, values)), error_at)


def small_frame(topic: str) -> ProduceFrame:
    return produce_frame(topic, [b"x" * SMALL_VALUE_BYTES])


def bulk_frame(topic: str, codec: CompressionType = CompressionType.NONE) -> ProduceFrame:
    return produce_frame(topic, [value(row) for row in range(BULK_RECORDS)], codec)


def batch_of(values: list[bytes], codec: CompressionType) -> bytes:
    """Return a batch with the time of now: retention must not delete it while it is measured."""
    now_ms = time.time_ns() // 1_000_000
    plain = CompressionType.NONE if codec is CompressionType.LZ4 else codec
    builder = BatchBuilder(limit_bytes=2 * sum(map(len, values)) + BATCH_OVERHEAD, options=BatchOptions(plain))
    for each in values:
        builder.append(now_ms, None, each)
    batch = builder.build()
    return as_lz4(batch) if codec is CompressionType.LZ4 else batch


def as_lz4(batch: bytes) -> bytes:
    """Return a plain batch in the lz4 frame of Java's producer and librdkafka: independent blocks without checksums."""
    records = batch[BATCH_OVERHEAD:]
    pieces = [batch[:BATCH_OVERHEAD], USUAL_HEAD]
    for at in range(0, len(records), BLOCK_BYTES_MAX):
        block = bytes(cramjam.lz4.compress_block(records[at : at + BLOCK_BYTES_MAX], store_size=False))
        pieces += [len(block).to_bytes(4, "little"), block]
    result = bytearray(b"".join([*pieces, bytes(4)]))
    result[_LENGTH_POSITION : _LENGTH_POSITION + 4] = (len(result) - 12).to_bytes(4, "big")
    result[22] |= CompressionType.LZ4.value
    write_crc(result)
    return bytes(result)


def fetch_frame(topic: str) -> FetchFrame:
    wanted = FetchPartition(partition=0, fetch_offset=_MARK, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=2 * FETCH_BYTES,
        isolation_level=0,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    data = framed(request, FETCH_VERSION)
    # Size, correlation id, throttle time, topics, name, partitions, index, error, two offsets, aborted transactions.
    records_at = 4 + 4 + 4 + 4 + 2 + len(topic) + 4 + 4 + 2 + 8 + 8 + 4
    return FetchFrame(data, data.index(_MARK.to_bytes(8, "big")), records_at)


def waiting_fetch_frame(topic: str, partitions: Sequence[int], max_wait_ms: int) -> bytes:
    """Return a fetch that asks for more than it may be given, so that it waits for as long as it may: each partition
    counts for four kilobytes at most, and a megabyte is wanted. Partitions may be named more than once."""
    wanted = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=4_096) for index in partitions]
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=FETCH_BYTES,
        max_bytes=50 * FETCH_BYTES,
        isolation_level=0,
        topics=[FetchTopic(topic=topic, partitions=wanted)],
    )
    return framed(request, FETCH_VERSION)


def metadata_frame() -> bytes:
    return framed(MetadataRequest(topics=None), METADATA_VERSION)
