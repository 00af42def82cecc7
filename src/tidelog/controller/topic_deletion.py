"""DeleteTopics, by name or by id. One record a topic; its partitions and settings go with it in replay."""

from tidelog.config.settings import node
from tidelog.controller.results import Record, Result, Slices, Steps
from tidelog.controller.state import ControllerState
from tidelog.metadata.records.topics import RemoveTopicRecord
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

# The first version whose clients know TOPIC_DELETION_DISABLED.
_FIRST_WITH_DISABLED = 3


def delete_topics(state: ControllerState, request: DeleteTopicsRequest, api_version: int | None = None) -> Steps:
    asked = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names] + request.topics
    results: list[DeletableTopicResult] = []
    if not state.config.get(node.DELETE_TOPIC_ENABLE):
        is_old = api_version is not None and api_version < _FIRST_WITH_DISABLED
        code = ErrorCode.INVALID_REQUEST if is_old else ErrorCode.TOPIC_DELETION_DISABLED
        for each in asked:
            results.append(_result(each.name, Uuid(each.topic_id), code, "delete.topic.enable is off"))
            yield
        return _respond(results, [])
    names, ids = yield from _sort_out(asked, results)
    by_id = yield from _find_ids(state, ids, results)
    by_name = yield from _find_names(state, names, by_id, ids, results)
    deleted = {**by_id, **by_name}
    records: list[Record] = []
    for topic_id, name in deleted.items():
        results.append(_result(name, topic_id))
        records.append((RemoveTopicRecord(topic_id=topic_id), 0))
        yield
    return _respond(results, records)


def _sort_out(
    asked: list[DeleteTopicState], malformed: list[DeletableTopicResult]
) -> Slices[tuple[dict[str, int], dict[Uuid, int]]]:
    """Count how often each name and each id is asked for; what has both or neither goes to `malformed`."""
    names: dict[str, int] = {}
    ids: dict[Uuid, int] = {}
    for each in asked:
        topic_id = Uuid(each.topic_id)
        if each.name is not None and topic_id != ZERO_UUID:
            message = "a topic is given by its name or by its id, not by both"
            malformed.append(_result(each.name, topic_id, ErrorCode.INVALID_REQUEST, message))
        elif each.name is not None:
            names[each.name] = names.get(each.name, 0) + 1
        elif topic_id != ZERO_UUID:
            ids[topic_id] = ids.get(topic_id, 0) + 1
        else:
            message = "neither a name nor an id was given"
            malformed.append(_result(None, ZERO_UUID, ErrorCode.INVALID_REQUEST, message))
        yield
    return names, ids


def _find_ids(
    state: ControllerState, ids: dict[Uuid, int], refused: list[DeletableTopicResult]
) -> Slices[dict[Uuid, str]]:
    found: dict[Uuid, str] = {}
    for topic_id, times in ids.items():
        topic = state.metadata.topics.by_id.get(topic_id)
        if times > 1:
            refused.append(_result(None, topic_id, ErrorCode.INVALID_REQUEST, "this id is there twice in one request"))
        elif topic is None:
            refused.append(_result(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id"))
        else:
            found[topic_id] = topic.name
        yield
    return found


def _find_names(
    state: ControllerState,
    names: dict[str, int],
    by_id: dict[Uuid, str],
    ids: dict[Uuid, int],
    refused: list[DeletableTopicResult],
) -> Slices[dict[Uuid, str]]:
    """Return the topics that are given by name. One that is given by name and by id is deleted by neither, and taken
    out of `by_id`."""
    found: dict[Uuid, str] = {}
    for name, times in names.items():
        topic = state.metadata.topics.by_name.get(name)
        if times > 1:
            refused.append(_result(name, ZERO_UUID, ErrorCode.INVALID_REQUEST, f"{name} is there twice in one request"))
        elif topic is None:
            refused.append(_result(name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}"))
        elif topic.id in ids:
            by_id.pop(topic.id, None)
            refused.append(_result(name, topic.id, ErrorCode.INVALID_REQUEST, f"{name} is there by its id as well"))
        else:
            found[topic.id] = name
        yield
    return found


def _result(
    name: str | None, topic_id: Uuid, code: ErrorCode = ErrorCode.NONE, message: str | None = None
) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)


def _respond(results: list[DeletableTopicResult], records: list[Record]) -> Result:
    return Result(records, DeleteTopicsResponse(throttle_time_ms=0, responses=results))
