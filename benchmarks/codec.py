"""Messages to bytes and back, beside `kio` and `kafka-python`.

Before anything is timed, all three have to agree on the bytes. Each contender starts from what its users hold: its own
message object, or the bytes of one. Note that kio's decoder is native code (Rust) and its encoder Python; ours and
kafka-python's are Python both ways.

Beside the Fetch request stands what the interpreter takes for its numbers alone: `struct` over the same bytes, no
objects made. No decoder written in Python can be faster than that.
"""

import importlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Any

from benchmarks.harness import measure, show
from tidelog.model.ids import Uuid
from tidelog.protocol.codec import decode_exact, decoder, encode
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.schema import schema_of

OURS, KIO, KAFKA_PYTHON = "tidelog", "kio", "kafka-python"
BAR = {KIO: 3.0, KAFKA_PYTHON: 3.0}


@dataclass(slots=True)
class Case:
    title: str
    message: Any
    version: int
    kio_module: str
    kafka_python_module: str


def topic_id(index: int) -> Uuid:
    return Uuid(index.to_bytes(16, "big"))


def fetch_request() -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, current_leader_epoch=5, fetch_offset=index * 1000, partition_max_bytes=1 << 20)
        for index in range(100)
    ]
    topics = [FetchTopic(topic_id=topic_id(index), partitions=partitions) for index in range(10)]
    return FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, topics=topics)


def metadata_response() -> MetadataResponse:
    brokers = [
        MetadataResponseBroker(node_id=index, host=f"broker-{index}.example", port=9092, rack=f"rack-{index % 3}")
        for index in range(6)
    ]
    topics = [
        MetadataResponseTopic(
            error_code=0,
            name=f"topic-{topic}",
            topic_id=topic_id(topic),
            partitions=[
                MetadataResponsePartition(
                    error_code=0,
                    partition_index=index,
                    leader_id=index % 6,
                    leader_epoch=5,
                    replica_nodes=[index % 6, (index + 1) % 6, (index + 2) % 6],
                    isr_nodes=[index % 6, (index + 1) % 6, (index + 2) % 6],
                )
                for index in range(100)
            ],
        )
        for topic in range(100)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="tidelog", controller_id=1, topics=topics)


def produce_request() -> ProduceRequest:
    partition = PartitionProduceData(index=3, records=bytes(1000))
    topic = TopicProduceData(name="topic-1", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def offset_commit_request() -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=index * 1000, committed_leader_epoch=5, committed_metadata=""
        )
        for index in range(10)
    ]
    topics = [OffsetCommitRequestTopic(name=f"topic-{index}", partitions=partitions) for index in range(10)]
    return OffsetCommitRequest(
        group_id="group-1",
        generation_id_or_member_epoch=7,
        member_id="consumer-group-1-1-8d5c5c9a-5d6b-4f3c-9c59-4b5fb0b0a8d1",
        topics=topics,
    )


def cases() -> list[Case]:
    return [
        Case("Fetch request, 1,000 partitions", fetch_request(), 17, "fetch", "consumer"),
        Case("Metadata response, 10,000 partitions", metadata_response(), 12, "metadata", "metadata"),
        Case("Produce request head", produce_request(), 9, "produce", "producer"),
        Case("OffsetCommit request, 100 partitions", offset_commit_request(), 9, "offset_commit", "consumer"),
    ]


@dataclass(slots=True)
class Peer:
    decode: Callable[[], object]
    encode: Callable[[], bytes]


def ours(case: Case, encoded: bytes) -> Peer:
    decode = decoder(type(case.message), case.version)
    return Peer(
        decode=lambda: decode(encoded, 0, len(encoded)),
        encode=lambda: encode(case.message, case.version),
    )


def kio(case: Case, encoded: bytes) -> Peer:
    serial: Any = importlib.import_module("kio.serial")
    name = type(case.message).__name__
    module = f"kio.schema.{case.kio_module}.v{case.version}.{schema_of(type(case.message)).kind}"
    entity = getattr(importlib.import_module(module), name)
    read, write = serial.entity_reader(entity), serial.entity_writer(entity)
    message, _ = read(encoded, 0)

    def encode_one() -> bytes:
        out = io.BytesIO()
        write(out, message)
        return out.getvalue()

    return Peer(decode=lambda: read(encoded, 0), encode=encode_one)


def kafka_python(case: Case, encoded: bytes) -> Peer:
    module = importlib.import_module(f"kafka.protocol.{case.kafka_python_module}")
    cls: Any = getattr(module, type(case.message).__name__)
    message = cls.decode(encoded, version=case.version)
    message._header = None  # what its constructor would have set, and its decoder leaves out
    return Peer(
        decode=lambda: cls.decode(encoded, version=case.version),
        encode=lambda: bytes(message.encode(version=case.version)),
    )


def numbers_alone(encoded: bytes) -> Callable[[], object]:
    """Return a function that unpacks the numbers of 1,000 fetch partitions and throws them away."""
    rows = Struct(">iiqiqix")
    part = encoded[: 1000 * rows.size]

    def unpack() -> None:
        for _ in rows.iter_unpack(part):
            pass

    return unpack


def run(case: Case) -> int:
    """Run a case; return how many bars were missed."""
    encoded = encode(case.message, case.version)
    assert decode_exact(type(case.message), encoded, case.version) == case.message
    peers = {OURS: ours(case, encoded), KIO: kio(case, encoded), KAFKA_PYTHON: kafka_python(case, encoded)}
    for name, peer in peers.items():
        assert peer.encode() == encoded, f"{name} writes other bytes"
    reading: dict[str, Callable[[], object]] = {name: peer.decode for name, peer in peers.items()}
    if isinstance(case.message, FetchRequest):
        reading["(struct alone)"] = numbers_alone(encoded)
    missed = 0
    writing: dict[str, Callable[[], object]] = {name: peer.encode for name, peer in peers.items()}
    for title, work in (("decode", reading), ("encode", writing)):
        results = measure(work, operations=1)
        heading = f"{case.title}, v{case.version}, {len(encoded):,} bytes: {title}"
        missed += not show(heading, "message", results, ours=OURS, bar=BAR)
    return missed


def main() -> int:
    return sum(run(case) for case in cases())


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
