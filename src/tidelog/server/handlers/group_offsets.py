"""OffsetCommit, OffsetFetch and OffsetDelete: to the coordinator of the group, or of each of several groups."""

from collections import deque
from typing import TYPE_CHECKING, Final

from tidelog.coordinator.group.offsets.fetch_answers import as_one_group, refused_group, requested_groups
from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from tidelog.server.coordination.asking import ask_group, ask_groups
from tidelog.server.coordination.quick_commit import learn
from tidelog.server.requests.handler import Handler, RequestContext, Steps, respond, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FIRST_BY_GROUP: Final = 8


def handle_commit(broker: "Broker", context: RequestContext, body: OffsetCommitRequest) -> None:
    learn(context.connection, context.request, body, context.frame_start)
    ask_group(broker, context, body.group_id, body, refuse_commit)


def refuse_commit(body: OffsetCommitRequest, code: ErrorCode, _message: str | None) -> OffsetCommitResponse:
    topics = [
        OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                for each in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    return OffsetCommitResponse(topics=topics)


def fetch_steps(broker: "Broker", context: RequestContext, body: OffsetFetchRequest) -> Steps[None]:
    version = context.api_version

    def refuse(asked: OffsetFetchRequest, code: ErrorCode, _message: str | None) -> OffsetFetchResponse:
        return _refused(asked, code, version)

    if version < FIRST_BY_GROUP or len(body.groups) == 1:
        group_id = body.group_id if version < FIRST_BY_GROUP else body.groups[0].group_id
        ask_group(broker, context, group_id, body, refuse, lambda response: _respond_fetch(context, response))
        return

    named: dict[str, deque[OffsetFetchRequestGroup]] = {}
    for group in body.groups:
        named.setdefault(group.group_id, deque()).append(group)
        yield

    def body_for(group_ids: list[str]) -> OffsetFetchRequest:
        """Each is asked for as often as it is there, perhaps in several parts."""
        groups = [named[group_id].popleft() for group_id in group_ids]
        return OffsetFetchRequest(groups=groups, require_stable=body.require_stable)

    def done(responses: list[OffsetFetchResponse]) -> None:
        """In the order of the request; a group that is there twice is answered twice."""
        places = {group.group_id: place for place, group in enumerate(body.groups)}
        groups = [group for response in responses for group in response.groups]
        in_order = sorted(groups, key=lambda group: places[group.group_id])
        _respond_fetch(context, OffsetFetchResponse(groups=in_order))

    yield from ask_groups(broker, context, [group.group_id for group in body.groups], body_for, refuse, done)


def _respond_fetch(context: RequestContext, response: OffsetFetchResponse) -> None:
    """All offsets of a group are asked for in a few bytes."""
    count = len(response.groups) + sum(len(topic.partitions) for topic in response.topics)
    for group in response.groups:
        count += len(group.topics) + sum(len(topic.partitions) for topic in group.topics)
    respond(context, response, count)


def _refused(body: OffsetFetchRequest, code: ErrorCode, version: int) -> OffsetFetchResponse:
    groups = [refused_group(group, code, version) for group in requested_groups(body, version)]
    return OffsetFetchResponse(groups=groups) if version >= FIRST_BY_GROUP else as_one_group(groups[0])


def refuse_fetch(body: OffsetFetchRequest, code: ErrorCode, _message: str | None) -> OffsetFetchResponse:
    """The version is not known here: whoever names groups speaks a late one, and the earliest has the code in every
    partition, where later ones have it once."""
    if body.groups:
        return _refused(body, code, FIRST_BY_GROUP)
    response = _refused(body, code, 1)
    response.error_code = code
    return response


def handle_delete(broker: "Broker", context: RequestContext, body: OffsetDeleteRequest) -> OffsetDeleteResponse | None:
    if not body.group_id:
        return refuse_delete(body, ErrorCode.INVALID_GROUP_ID, None)
    ask_group(broker, context, body.group_id, body, refuse_delete)
    return None


def refuse_delete(_body: OffsetDeleteRequest, code: ErrorCode, _message: str | None) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=code, throttle_time_ms=0, topics=[])


OFFSET_COMMIT = Handler(ApiKey.OFFSET_COMMIT, handle_commit, refuse_commit)
OFFSET_FETCH = Handler(ApiKey.OFFSET_FETCH, whole(fetch_steps), refuse_fetch, steps=fetch_steps)
OFFSET_DELETE = Handler(ApiKey.OFFSET_DELETE, handle_delete, refuse_delete)
