"""DescribeTopicPartitions: topics page by page, so that no answer is larger than a client or broker can bear.

Topics come in the order of their names, partitions in theirs. A page ends after so many partitions; its cursor names
the first one that it left out.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tidelog.config.settings import requests
from tidelog.controller.topic_names import check_topic_name
from tidelog.metadata.topics import Topic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from tidelog.server.cluster.internal_topics import is_internal
from tidelog.server.cluster.reachable import NO_LEADER, Reachable
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole
from tidelog.server.requests.response_arrays import in_order

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FEWEST: Final = 1


def steps(
    broker: "Broker", context: RequestContext, body: DescribeTopicPartitionsRequest
) -> Steps[DescribeTopicPartitionsResponse]:
    cursor = body.cursor
    if cursor is not None and body.topics and all(cursor.topic_name != topic.name for topic in body.topics):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"a cursor at {cursor.topic_name}, which is none of the topics")
    if cursor is not None and cursor.partition_index < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"a cursor at partition {cursor.partition_index}")
    most: int = broker.config.get(requests.MAX_REQUEST_PARTITION_SIZE_LIMIT)
    page = _Page(broker, context, max(FEWEST, min(most, body.response_partition_limit)))
    return (yield from page.fill(body))


class _Page:
    def __init__(self, broker: "Broker", context: RequestContext, limit: int) -> None:
        self._topics = broker.image.topics.by_name
        self._reachable = Reachable(broker, context.connection.accepted)
        self._left = limit
        self._response = DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=[])

    def fill(self, body: DescribeTopicPartitionsRequest) -> Steps[DescribeTopicPartitionsResponse]:
        cursor = body.cursor
        asked: Iterable[str] = self._topics
        if body.topics:
            asked = dict.fromkeys(topic.name for topic in body.topics)
        if cursor is not None:
            first_name = cursor.topic_name
            asked = [name for name in asked if name >= first_name]
        for name in in_order(asked):
            first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
            if not self._add(name, first):
                break
            yield
        return self._response

    def _add(self, name: str, first: int) -> bool:
        """False: the page is full, and the cursor says where to go on."""
        if not self._left:
            self._response.next_cursor = Cursor(topic_name=name, partition_index=0)
            return False
        topic = self._topics.get(name)
        if topic is None:
            self._response.topics.append(_missing(name))
            return True
        indexes = [index for index in topic.partition_ids() if index >= first]
        taken = indexes[: self._left]
        self._response.topics.append(self._describe(topic, taken))
        self._left -= len(taken)
        if len(taken) < len(indexes):
            self._response.next_cursor = Cursor(topic_name=name, partition_index=indexes[len(taken)])
            return False
        return True

    def _describe(self, topic: Topic, indexes: list[int]) -> DescribeTopicPartitionsResponseTopic:
        return DescribeTopicPartitionsResponseTopic(
            error_code=ErrorCode.NONE,
            name=topic.name,
            topic_id=topic.id,
            is_internal=is_internal(topic.name),
            partitions=[self._partition(topic, index) for index in indexes],
        )

    def _partition(self, topic: Topic, index: int) -> DescribeTopicPartitionsResponsePartition:
        """Without a leader it has no error here, unlike in Metadata: the leader is -1."""
        image = topic.partitions[index]
        return DescribeTopicPartitionsResponsePartition(
            error_code=ErrorCode.NONE,
            partition_index=index,
            leader_id=image.leader if image.leader in self._reachable else NO_LEADER,
            leader_epoch=image.leader_epoch,
            replica_nodes=list(image.replicas),
            isr_nodes=list(image.isr),
            eligible_leader_replicas=list(image.elr),
            last_known_elr=list(image.last_known_elr),
            offline_replicas=self._reachable.offline_of(image),
        )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
    except ApiError as error:
        code = error.code
    return DescribeTopicPartitionsResponseTopic(
        error_code=code, name=name, topic_id=ZERO_UUID, is_internal=is_internal(name), partitions=[]
    )


def refuse(
    body: DescribeTopicPartitionsRequest, code: ErrorCode, _message: str | None
) -> DescribeTopicPartitionsResponse:
    refused = [
        DescribeTopicPartitionsResponseTopic(error_code=code, name=topic.name, topic_id=ZERO_UUID, partitions=[])
        for topic in body.topics
    ]
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=refused)


DESCRIBE_TOPIC_PARTITIONS = Handler(ApiKey.DESCRIBE_TOPIC_PARTITIONS, whole(steps), refuse, steps=steps)
