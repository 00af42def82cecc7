"""Metadata: who leads what, and where to find them.

Topics are asked for by name or id; null means all, an empty list none (in version 0, which can not say null, it means
all). A topic that does not exist is made when both the broker and the request allow it: the request then says
UNKNOWN_TOPIC_OR_PARTITION, and the client, which retries that, finds it the next time.
"""

from typing import TYPE_CHECKING, Final

from tidelog.config.settings import node
from tidelog.controller.topic_names import check_topic_name
from tidelog.metadata.topics import Partition as PartitionImage
from tidelog.metadata.topics import Topic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.server.handling import Handler, RequestContext
from tidelog.server.internal_topics import is_internal

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

FIRST_WITH_NULL: Final = 1
FIRST_WITH_LISTENER_ERROR: Final = 6
CREATE_TIMEOUT_MS: Final = 30_000
DEFAULT: Final = -1


def handle(broker: "Broker", context: RequestContext, body: MetadataRequest) -> MetadataResponse:
    accepted = context.connection.accepted
    brokers = [
        MetadataResponseBroker(node_id=node_id, host=address.host, port=address.port, rack=address.rack)
        for node_id in sorted(broker.image.brokers)
        if (address := broker.endpoint_of(node_id, accepted)) is not None
    ]
    reachable = {each.node_id for each in brokers}
    topics = [_answer(found, context.api_version, reachable) for found in _wanted(broker, context, body)]
    return MetadataResponse(
        brokers=brokers, cluster_id=broker.cluster_id, controller_id=broker.controller_id(), topics=topics
    )


def _wanted(broker: "Broker", context: RequestContext, body: MetadataRequest) -> list[Topic | MetadataResponseTopic]:
    """Topics that there are, and answers about those that there are not."""
    if body.topics is None or (not body.topics and context.api_version < FIRST_WITH_NULL):
        return [broker.image.topics.by_name[name] for name in sorted(broker.image.topics.by_name)]
    missing: list[str] = []
    wanted = [_find(broker, each, missing) for each in body.topics]
    if missing and body.allow_auto_topic_creation and broker.config.get(node.AUTO_CREATE_TOPICS_ENABLE):
        _create(broker, missing)
    return wanted


def _find(broker: "Broker", asked: MetadataRequestTopic, missing: list[str]) -> Topic | MetadataResponseTopic:
    topics = broker.image.topics
    if asked.name is None:
        if asked.topic_id == ZERO_UUID:
            return MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST, name=None, topic_id=asked.topic_id, partitions=[]
            )
        found = topics.by_id.get(asked.topic_id)
        return found or MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=asked.topic_id, partitions=[]
        )
    found = topics.by_name.get(asked.name)
    if found is not None:
        return found
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(asked.name)
        missing.append(asked.name)
    except ApiError as error:
        code = error.code
    return MetadataResponseTopic(error_code=code, name=asked.name, is_internal=is_internal(asked.name), partitions=[])


def _create(broker: "Broker", names: list[str]) -> None:
    """Nobody waits for the answer: who asked will ask again."""
    topics = [
        CreatableTopic(name=name, num_partitions=DEFAULT, replication_factor=DEFAULT, assignments=[], configs=[])
        for name in dict.fromkeys(names)
    ]
    broker.ask_controller(CreateTopicsRequest(topics=topics, timeout_ms=CREATE_TIMEOUT_MS), lambda _response: None)


def _answer(found: Topic | MetadataResponseTopic, version: int, reachable: set[int]) -> MetadataResponseTopic:
    if isinstance(found, MetadataResponseTopic):
        return found
    partitions = found.partitions
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=found.name,
        topic_id=found.id,
        is_internal=is_internal(found.name),
        partitions=[_partition(index, partitions[index], version, reachable) for index in found.partition_ids()],
    )


def _partition(index: int, image: PartitionImage, version: int, reachable: set[int]) -> MetadataResponsePartition:
    """Leader -1 is none at the moment; the epoch stays what it was."""
    code, leader = ErrorCode.NONE, image.leader
    if not image.has_leader:
        code = ErrorCode.LEADER_NOT_AVAILABLE
    elif leader not in reachable:
        has_listener_error = version >= FIRST_WITH_LISTENER_ERROR
        code = ErrorCode.LISTENER_NOT_FOUND if has_listener_error else ErrorCode.LEADER_NOT_AVAILABLE
        leader = -1
    offline = [replica for replica in image.replicas if replica not in reachable]
    return MetadataResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=leader,
        leader_epoch=image.leader_epoch,
        replica_nodes=list(image.replicas),
        isr_nodes=list(image.isr),
        offline_replicas=offline,
    )


def refuse(_body: MetadataRequest, code: ErrorCode, _message: str | None) -> MetadataResponse:
    return MetadataResponse(brokers=[], topics=[], error_code=code)


METADATA = Handler(ApiKey.METADATA, handle, refuse)
