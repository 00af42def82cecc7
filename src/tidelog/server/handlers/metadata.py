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
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from tidelog.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.server.cluster.internal_topics import is_internal
from tidelog.server.cluster.reachable import NO_LEADER, Reachable
from tidelog.server.requests.audit import tell_change, topics_created
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.handler import Handler, RequestContext, Steps, run_whole
from tidelog.server.requests.response_arrays import Collect, at_once, in_order, on_demand

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FIRST_WITH_NULL: Final = 1
FIRST_WITH_LISTENER_ERROR: Final = 6
FIRST_WITH_IDS: Final = 12
CREATE_TIMEOUT_MS: Final = 30_000
DEFAULT: Final = -1
# Topics that one request makes come into being; who asked for more is told that they are unknown, and asks again.
AUTO_CREATED_MAX: Final = 1_000


def handle(broker: "Broker", context: RequestContext, body: MetadataRequest) -> MetadataResponse | None:
    """Many topics or partitions are told in slices, however short the request for them is."""
    _check_ids(context.api_version, body)
    if not body.topics and len(broker.image.topics) > WHOLE_ELEMENTS_MAX:
        broker.slices.begin_steps(context, body, steps)
        return None
    wanted = run_whole(_wanted(broker, context, body))
    if _is_large(wanted):
        broker.slices.begin_answer(context, body, _response(broker, context, wanted, on_demand))
        return None
    return _response(broker, context, wanted, at_once)


def steps(broker: "Broker", context: RequestContext, body: MetadataRequest) -> Steps[MetadataResponse]:
    _check_ids(context.api_version, body)
    wanted = yield from _wanted(broker, context, body)
    return _response(broker, context, wanted, on_demand)


def _is_large(wanted: list[Topic | MetadataResponseTopic]) -> bool:
    return len(wanted) > WHOLE_ELEMENTS_MAX or sum(len(each.partitions) for each in wanted) > WHOLE_ELEMENTS_MAX


def _response(
    broker: "Broker", context: RequestContext, wanted: list[Topic | MetadataResponseTopic], collect: Collect
) -> MetadataResponse:
    reachable = Reachable(broker, context.connection.accepted)
    brokers = [
        MetadataResponseBroker(node_id=node_id, host=address.host, port=address.port, rack=address.rack)
        for node_id, address in reachable.addresses.items()
    ]
    version = context.api_version
    topics = collect(wanted, (_answer(found, version, reachable, collect) for found in wanted))
    return MetadataResponse(
        brokers=brokers, cluster_id=broker.cluster_id, controller_id=broker.controller_id(), topics=topics
    )


def _check_ids(version: int, body: MetadataRequest) -> None:
    """Versions 10 and 11 have the field, and no broker that ever understood it."""
    if version < FIRST_WITH_IDS and any(each.name is None or each.topic_id != ZERO_UUID for each in body.topics or ()):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"topic ids are not served in version {version}")


def _wanted(
    broker: "Broker", context: RequestContext, body: MetadataRequest
) -> Steps[list[Topic | MetadataResponseTopic]]:
    """Topics that there are, and answers about those that there are not. Each once; where ids are given, names are not
    looked at."""
    wanted: list[Topic | MetadataResponseTopic] = []
    if body.topics is None or (not body.topics and context.api_version < FIRST_WITH_NULL):
        topics = broker.image.topics.by_name
        for known in in_order(topics):
            wanted.append(topics[known])
            yield
        return wanted
    missing: list[str] = []
    ids: dict[Uuid, None] = {}
    names: dict[str | None, None] = {}
    for each in body.topics:
        names[each.name] = None
        if each.topic_id != ZERO_UUID:
            ids[each.topic_id] = None
        yield
    if ids:
        for topic_id in ids:
            wanted.append(_find_by_id(broker, topic_id))
            yield
        return wanted
    for name in names:
        wanted.append(_find(broker, name, missing))
        yield
    if missing and body.allow_auto_topic_creation and broker.config.get(node.AUTO_CREATE_TOPICS_ENABLE):
        _create(broker, context, missing[:AUTO_CREATED_MAX])
    return wanted


def _find_by_id(broker: "Broker", topic_id: Uuid) -> Topic | MetadataResponseTopic:
    found = broker.image.topics.by_id.get(topic_id)
    return found or MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id, partitions=[]
    )


def _find(broker: "Broker", name: str | None, missing: list[str]) -> Topic | MetadataResponseTopic:
    if name is None:  # and no id either
        return MetadataResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=None, partitions=[])
    found = broker.image.topics.by_name.get(name)
    if found is not None:
        return found
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
        missing.append(name)
    except ApiError as error:
        code = error.code
    return MetadataResponseTopic(error_code=code, name=name, is_internal=is_internal(name), partitions=[])


def _create(broker: "Broker", context: RequestContext, names: list[str]) -> None:
    """Nobody waits for the answer: who asked will ask again."""

    def answered(answer: object) -> None:
        if isinstance(answer, CreateTopicsResponse):
            tell_change(context, "asked for, and by that created, the topics", topics_created(None, answer))

    for name in filter(is_internal, names):
        broker.internal_topics.create(name)
    topics = [
        CreatableTopic(name=name, num_partitions=DEFAULT, replication_factor=DEFAULT, assignments=[], configs=[])
        for name in dict.fromkeys(names)
        if not is_internal(name)
    ]
    if topics:
        broker.ask_controller(CreateTopicsRequest(topics=topics, timeout_ms=CREATE_TIMEOUT_MS), answered)


def _answer(
    found: Topic | MetadataResponseTopic, version: int, reachable: Reachable, collect: Collect
) -> MetadataResponseTopic:
    if isinstance(found, MetadataResponseTopic):
        return found
    partitions, indexes = found.partitions, found.partition_ids()
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=found.name,
        topic_id=found.id,
        is_internal=is_internal(found.name),
        partitions=collect(indexes, (_partition(index, partitions[index], version, reachable) for index in indexes)),
    )


def _partition(index: int, image: PartitionImage, version: int, reachable: Reachable) -> MetadataResponsePartition:
    """Leader -1 is none at the moment; the epoch stays what it was. Version 0 can not tell offline replicas from
    others, so it leaves them out."""
    replicas, isr, code = list(image.replicas), list(image.isr), ErrorCode.NONE
    if version == 0:
        replicas = [replica for replica in replicas if replica in reachable]
        isr = [replica for replica in isr if replica in reachable]
        if (len(replicas), len(isr)) < (len(image.replicas), len(image.isr)):
            code = ErrorCode.REPLICA_NOT_AVAILABLE
    if image.leader not in reachable:
        is_elsewhere = reachable.is_registered(image.leader) and version >= FIRST_WITH_LISTENER_ERROR
        code = ErrorCode.LISTENER_NOT_FOUND if is_elsewhere else ErrorCode.LEADER_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=image.leader if image.leader in reachable else NO_LEADER,
        leader_epoch=image.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=reachable.offline_of(image),
    )


def refuse(body: MetadataRequest, code: ErrorCode, _message: str | None) -> MetadataResponse:
    topics = [
        MetadataResponseTopic(error_code=code, name=each.name or "", topic_id=each.topic_id, partitions=[])
        for each in body.topics or ()
    ]
    return MetadataResponse(brokers=[], topics=topics, error_code=code)


METADATA = Handler(ApiKey.METADATA, handle, refuse, steps=steps)
