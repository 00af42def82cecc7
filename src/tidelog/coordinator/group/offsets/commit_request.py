"""What OffsetCommit, TxnOffsetCommit and OffsetDelete have in common: topics with partitions, each with its own answer.
Compiled by mypyc: commits are the most frequent of all requests to a coordinator.

The broker answers for topics and partitions that do not exist; only the others are a matter of the group.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tidelog.metadata.topics import Topic
from tidelog.model.errors import ErrorCode

# A partition that exists: its topic, what is asked of it, and its answer, which says NONE so far.
Requested: TypeAlias = tuple[Topic, Any, Any]


def answer_each(
    topics: Sequence[Any],
    find: Callable[[Any], Topic | None],
    make_topic: Callable[[Any, Topic | None, list[Any]], Any],
    make_partition: Callable[..., Any],
    unknown_topic: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
) -> tuple[list[Any], list[Requested]]:
    """The topics of the response, in the order of the request, and what is still to be decided of them."""
    answered: list[Any] = []
    requested: list[Requested] = []
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


def refuse(requested: Sequence[Requested], code: ErrorCode) -> None:
    for _topic, _partition, answer in requested:
        answer.error_code = code
