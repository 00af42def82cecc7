"""DeleteTopics, by name or by id. One record a topic; its partitions and settings go with it in replay."""

from tidelog.config.settings import node
from tidelog.controller.results import Record, Result
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

# Before it, clients do not know TOPIC_DELETION_DISABLED.
_FIRST_WITH_DISABLED = 3


def delete_topics(state: ControllerState, request: DeleteTopicsRequest, api_version: int | None = None) -> Result:
    asked = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in request.topic_names] + request.topics
    if not state.config.get(node.DELETE_TOPIC_ENABLE):
        is_old = api_version is not None and api_version < _FIRST_WITH_DISABLED
        code = ErrorCode.INVALID_REQUEST if is_old else ErrorCode.TOPIC_DELETION_DISABLED
        message = "delete.topic.enable is off"
        return _respond([_result(each.name, Uuid(each.topic_id), code, message) for each in asked], [])
    malformed, names, ids = _sort_out(asked)
    by_id, unknown_ids = _find_ids(state, ids)
    by_name, unknown_names = _find_names(state, names, by_id, ids)
    deleted = {**by_id, **by_name}
    results = [_result(name, topic_id) for topic_id, name in deleted.items()]
    records: list[Record] = [(RemoveTopicRecord(topic_id=topic_id), 0) for topic_id in deleted]
    return _respond([*malformed, *unknown_ids, *unknown_names, *results], records)


def _sort_out(
    asked: list[DeleteTopicState],
) -> tuple[list["DeletableTopicResult"], dict[str, int], dict[Uuid, int]]:
    """What cannot be meant, and how often each name and each id is asked for."""
    malformed: list[DeletableTopicResult] = []
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
    return malformed, names, ids


def _find_ids(state: ControllerState, ids: dict[Uuid, int]) -> tuple[dict[Uuid, str], list[DeletableTopicResult]]:
    found: dict[Uuid, str] = {}
    refused: list[DeletableTopicResult] = []
    for topic_id, times in ids.items():
        topic = state.metadata.topics.by_id.get(topic_id)
        if times > 1:
            refused.append(_result(None, topic_id, ErrorCode.INVALID_REQUEST, "this id is there twice in one request"))
        elif topic is None:
            refused.append(_result(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id"))
        else:
            found[topic_id] = topic.name
    return found, refused


def _find_names(
    state: ControllerState, names: dict[str, int], by_id: dict[Uuid, str], ids: dict[Uuid, int]
) -> tuple[dict[Uuid, str], list[DeletableTopicResult]]:
    """A topic given by name and by id is deleted by neither, and taken out of `by_id`."""
    found: dict[Uuid, str] = {}
    refused: list[DeletableTopicResult] = []
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
    return found, refused


def _result(
    name: str | None, topic_id: Uuid, code: ErrorCode = ErrorCode.NONE, message: str | None = None
) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=code, error_message=message)


def _respond(results: list[DeletableTopicResult], records: list[Record]) -> Result:
    return Result(records, DeleteTopicsResponse(throttle_time_ms=0, responses=results))
