"""The frames of the coordinators' load: made once, here, for a tool that only sends them (`broker/load.c`)."""

import time
from dataclasses import dataclass

from benchmarks.broker.frames import PRODUCE_VERSION, SMALL_VALUE_BYTES, TIMEOUT_MS, ProduceFrame, framed
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder, BatchOptions

COMMIT_VERSION, OFFSET_FETCH_VERSION = 9, 9  # what librdkafka speaks
NO_PRODUCER = -1
_BASE_SEQUENCE = 53  # in a batch


@dataclass(slots=True)
class SequencedFrames:
    """The frames of several connections, one each. A producer's sequence stands at `sequence_at` of each; 0: they are
    of no producer."""

    frame: ProduceFrame
    sequence_at: int


def commit_frame(group: str, topic: str, offsets: dict[int, int]) -> ProduceFrame:
    """Return the commit of a simple consumer: of no generation, by no member."""
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        for index, offset in offsets.items()
    ]
    request = OffsetCommitRequest(
        group_id=group, member_id="", topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)]
    )
    # Size, correlation id, tags, throttle time, topics, name, partitions, index.
    error_at = 4 + 4 + 1 + 4 + 1 + 1 + len(topic) + 1 + 4
    return ProduceFrame(framed(request, COMMIT_VERSION), 0, error_at)


def commit_frames(groups: list[str], topic: str) -> ProduceFrame:
    """Return a commit for each group: the first commits partition 0, the next partition 1, and so on."""
    frames = [commit_frame(group, topic, {index: 1_000_000 + index}) for index, group in enumerate(groups)]
    return ProduceFrame(b"".join(each.data for each in frames), 0, frames[0].error_at)


def sequenced_frames(topic: str, producer_ids: list[int]) -> SequencedFrames:
    """Return a frame of one record for each producer; NO_PRODUCER stands for one that is not idempotent."""
    frames = [_one_record(topic, producer_id) for producer_id in producer_ids]
    error_at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    data, batch_bytes = b"".join(frame for frame, _size in frames), frames[0][1]
    sequence_at = 0 if producer_ids[0] == NO_PRODUCER else len(frames[0][0]) - batch_bytes + _BASE_SEQUENCE
    return SequencedFrames(ProduceFrame(data, SMALL_VALUE_BYTES, error_at), sequence_at)


def _one_record(topic: str, producer_id: int) -> tuple[bytes, int]:
    """Return a frame with one record, and how many bytes at its end are the batch."""
    options = BatchOptions()
    if producer_id != NO_PRODUCER:
        options = BatchOptions(producer_id=producer_id, producer_epoch=0, base_sequence=0)
    builder = BatchBuilder(options=options)
    builder.append(time.time_ns() // 1_000_000, None, b"x" * SMALL_VALUE_BYTES)
    batch = builder.build()
    request = ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])],
    )
    return framed(request, PRODUCE_VERSION), len(batch)
