"""CreateTopics. A topic is its TopicRecord, its settings, then its partitions, all in one atomic batch: nobody ever
sees a part of it. Each topic of a request succeeds or fails alone.
"""

from collections.abc import Mapping

from tidelog.config import ConfigError, describe_topic
from tidelog.config.settings import node
from tidelog.controller.config_records import change_records
from tidelog.controller.config_resources import settings_of_new_topic
from tidelog.controller.new_partitions import PARTITIONS_MAX, NewPartitions
from tidelog.controller.results import Record, Result, Slices, Steps
from tidelog.controller.state import ControllerState
from tidelog.controller.topic_names import CLUSTER_METADATA_TOPIC, check_topic_name, collision_key
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.records.topics import TopicRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.ports.entropy import random_uuid
from tidelog.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

USE_DEFAULT = -1


def create_topics(state: ControllerState, request: CreateTopicsRequest) -> Steps:
    times: dict[str, int] = {}
    for topic in request.topics:
        times[topic.name] = times.get(topic.name, 0) + 1
        yield
    refusals: dict[str, ApiError] = {}
    wanted: list[CreatableTopic] = []
    for topic in request.topics:
        refusal = _refusal(topic.name, times[topic.name])
        if refusal is None:
            wanted.append(topic)
        else:
            refusals[topic.name] = refusal
        yield
    if _partition_count(state, wanted) > PARTITIONS_MAX:
        error = ApiError(ErrorCode.POLICY_VIOLATION, f"one request may create at most {PARTITIONS_MAX} partitions")
        refused: list[CreatableTopicResult] = []
        for topic in request.topics:
            refused.append(_refused(topic.name, error))
            yield
        return _respond(request, refused, [])
    results: list[CreatableTopicResult] = []
    records: list[Record] = []
    for topic in wanted:
        result, of_topic = yield from _create_or_refuse(state, topic)
        results.append(result)
        records += of_topic
        yield
    for name, error in refusals.items():
        results.append(_refused(name, error))
        yield
    return _respond(request, results, records)


def _refusal(name: str, times: int) -> ApiError | None:
    """Return why a name is unfit for any request, before anything else is looked at; None where it is not."""
    if times > 1:
        return ApiError(ErrorCode.INVALID_REQUEST, f"{name} is there {times} times in one request")
    if name == CLUSTER_METADATA_TOPIC:
        return ApiError(ErrorCode.INVALID_REQUEST, f"{name} is the cluster's own and cannot be created")
    return None


def _partition_count(state: ControllerState, topics: list[CreatableTopic]) -> int:
    default = state.config.get(node.NUM_PARTITIONS)

    def count(topic: CreatableTopic) -> int:
        asked = len(topic.assignments) or topic.num_partitions
        return default if asked == USE_DEFAULT else max(asked, 0)

    return sum(map(count, topics))


def _create_or_refuse(
    state: ControllerState, topic: CreatableTopic
) -> Slices[tuple[CreatableTopicResult, list[Record]]]:
    try:
        return (yield from _create(state, topic))
    except ApiError as error:
        return _refused(topic.name, error), []
    except ConfigError as error:
        return _refused(topic.name, ApiError(error.code, str(error))), []


def _create(state: ControllerState, topic: CreatableTopic) -> Slices[tuple[CreatableTopicResult, list[Record]]]:
    _check_name_is_free(state, topic.name)
    settings = settings_of_new_topic(state, topic)
    topic_id = random_uuid(state.entropy)
    partitions = yield from _partition_records(state, topic, NewPartitions(state, topic_id))
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    records: list[Record] = [(TopicRecord(name=topic.name, topic_id=topic_id), 0)]
    records += change_records(resource, settings, elr_enabled=state.elr_enabled)
    records += partitions
    result = CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0][0].replicas),
        configs=_described(state, settings),
    )
    return result, records


def _check_name_is_free(state: ControllerState, name: str) -> None:
    if name in state.metadata.topics.by_name:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name} exists already")
    check_topic_name(name)
    key = collision_key(name)
    others = state.indexes.colliding.get(key) if key is not None else None
    if others:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name} differs from topic {next(iter(others))} in '.' and '_' only"
        )


def _partition_records(
    state: ControllerState, topic: CreatableTopic, partitions: NewPartitions
) -> Slices[list[Record]]:
    if topic.assignments:
        return (yield from _assigned(topic, partitions))
    if topic.replication_factor != USE_DEFAULT and topic.replication_factor < 1:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR, "the replication factor must be at least 1, or -1 for the default"
        )
    if topic.num_partitions != USE_DEFAULT and topic.num_partitions < 1:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS, "the number of partitions must be at least 1, or -1 for the default"
        )
    count, replication_factor = topic.num_partitions, topic.replication_factor
    if count == USE_DEFAULT:
        count = state.config.get(node.NUM_PARTITIONS)
    if replication_factor == USE_DEFAULT:
        replication_factor = state.config.get(node.DEFAULT_REPLICATION_FACTOR)
    return (yield from partitions.place(0, count, replication_factor))


def _assigned(topic: CreatableTopic, partitions: NewPartitions) -> Slices[list[Record]]:
    if topic.replication_factor != USE_DEFAULT or topic.num_partitions != USE_DEFAULT:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, "with replicas assigned, partition count and replication factor must be -1"
        )
    chosen: dict[int, list[int]] = {}
    for assignment in topic.assignments:
        if assignment.partition_index in chosen:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {assignment.partition_index} is assigned twice"
            )
        chosen[assignment.partition_index] = assignment.broker_ids
    records = yield from partitions.assign(chosen.items())
    if sorted(chosen) != list(range(len(chosen))):
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions must be numbered from 0 with none left out")
    return sorted(records, key=lambda record: int(record[0].partition_id))


def _described(state: ControllerState, settings: Mapping[str, str]) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=entry.name,
            value=None if entry.is_sensitive else entry.value,
            read_only=entry.read_only,
            config_source=entry.source,
            is_sensitive=entry.is_sensitive,
        )
        for entry in describe_topic(state.config, settings)
    ]


def _refused(name: str, error: ApiError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


def _respond(request: CreateTopicsRequest, results: list[CreatableTopicResult], records: list[Record]) -> Result:
    response = CreateTopicsResponse(throttle_time_ms=0, topics=results)
    return Result([] if request.validate_only else records, response)
