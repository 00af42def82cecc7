"""What OffsetCommit, TxnOffsetCommit and OffsetDelete have in common: topics with partitions, each with its own answer.
Compiled by mypyc: commits are the most frequent of all requests to a coordinator.

The broker answers for topics and partitions that do not exist; only the others are a matter of the group.

A request with few partitions is decided at once. One with many is gone through in parts (`parts_of`), and the turn is
given back after each: nothing else runs on the machine meanwhile, so it is still one decision.
"""

import copy
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final, TypeAlias

from tidelog.metadata.topics import Topic
from tidelog.model.errors import ErrorCode

# A partition that exists: its topic, its part of the request, and its answer, whose code is NONE so far.
RequestedPartition: TypeAlias = tuple[Topic, Any, Any]


PARTITIONS_A_SLICE: Final = 500


def is_large(topics: Sequence[Any]) -> bool:
    """Tell whether a request takes more than a slice. A topic without partitions counts, too."""
    count = len(topics)
    for topic in topics:
        count += len(topic.partitions)
    return count > PARTITIONS_A_SLICE


def parts_of(topics: Sequence[Any]) -> Iterator[tuple[list[Any], bool]]:
    """Yield the topics of a request in parts of a slice each, and whether a part goes on with the last topic of the one
    before it."""
    part: list[Any] = []
    count = 0
    goes_on = False
    for topic in topics:
        at, end = 0, len(topic.partitions)
        while True:
            sliced = copy.copy(topic)
            sliced.partitions = topic.partitions[at : at + PARTITIONS_A_SLICE - count]
            part.append(sliced)
            count += 1 + len(sliced.partitions)
            at += len(sliced.partitions)
            if count >= PARTITIONS_A_SLICE:
                yield part, goes_on
                part, count, goes_on = [], 0, at < end
            if at >= end:
                break
    if part:
        yield part, goes_on


AnswerPart: TypeAlias = Callable[[list[Any]], "tuple[list[Any], list[RequestedPartition]]"]


def answer_in_parts(
    topics: Sequence[Any], answer: AnswerPart
) -> Generator[None, None, tuple[list[Any], list[RequestedPartition]]]:
    """Return what `answer` (see `answer_each`) returns for all topics, giving the turn back after each part."""
    answered: list[Any] = []
    requested: list[RequestedPartition] = []
    for part, goes_on in parts_of(topics):
        some, found = answer(part)
        if goes_on:
            answered[-1].partitions.extend(some[0].partitions)
            del some[0]
        answered += some
        requested += found
        yield
    return answered, requested


def answer_each(
    topics: Sequence[Any],
    find: Callable[[Any], Topic | None],
    make_topic: Callable[[Any, Topic | None, list[Any]], Any],
    make_partition: Callable[..., Any],
    unknown_topic: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
) -> tuple[list[Any], list[RequestedPartition]]:
    """Return the topics of the response, in the order of the request, and the partitions that exist, which are still to
    be decided on."""
    answered: list[Any] = []
    requested: list[RequestedPartition] = []
    for asked in topics:
        topic = find(asked)
        answers: list[Any] = []
        answered.append(make_topic(asked, topic, answers))
        for partition in asked.partitions:
            index = partition.partition_index
            answer = make_partition(partition_index=index, error_code=0)
            answers.append(answer)
            if topic is None:
                answer.error_code = unknown_topic
            elif index not in topic.partitions:
                answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                requested.append((topic, partition, answer))
    return answered, requested


def refuse(requested: Sequence[RequestedPartition], code: ErrorCode) -> None:
    for _topic, _partition, answer in requested:
        answer.error_code = code
