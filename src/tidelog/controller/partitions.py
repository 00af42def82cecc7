"""CreatePartitions: more partitions for topics that exist, with as many replicas as their first has."""

from tidelog.controller.new_partitions import PARTITIONS_MAX, NewPartitions
from tidelog.controller.results import Record, Result, Slices, Steps
from tidelog.controller.state import ControllerState
from tidelog.metadata.topics import Topic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


def create_partitions(state: ControllerState, request: CreatePartitionsRequest) -> Steps:
    asked: dict[str, list[CreatePartitionsTopic]] = {}
    for topic in request.topics:
        asked.setdefault(topic.name, []).append(topic)
        yield
    results: list[CreatePartitionsTopicResult] = []
    for name, topics in asked.items():
        if len(topics) > 1:
            results.append(_result(name, ErrorCode.INVALID_REQUEST, "there twice in one request"))
        yield
    records: list[Record] = []
    for name, topics in asked.items():
        if len(topics) > 1:
            continue
        try:
            records += yield from _add_partitions(state, topics[0], PARTITIONS_MAX - len(records))
            results.append(_result(name))
        except ApiError as error:
            results.append(_result(name, error.code, error.message))
        yield
    response = CreatePartitionsResponse(throttle_time_ms=0, results=results)
    return Result([] if request.validate_only else records, response)


def _add_partitions(state: ControllerState, asked: CreatePartitionsTopic, room: int) -> Slices[list[Record]]:
    topic = state.metadata.topics.by_name.get(asked.name)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {asked.name}")
    first = len(topic.partitions)
    _check_count(topic, asked, room)
    replication_factor = len(topic.partitions[0].replicas)
    partitions = NewPartitions(state, topic.id)
    if asked.assignments is None:
        return (yield from partitions.place(first, asked.count - first, replication_factor))
    chosen = ((first + number, assignment.broker_ids) for number, assignment in enumerate(asked.assignments))
    return (yield from partitions.assign(chosen, replication_factor))


def _check_count(topic: Topic, asked: CreatePartitionsTopic, room: int) -> None:
    first, more = len(topic.partitions), asked.count - len(topic.partitions)
    if more <= 0:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS, f"topic {topic.name} has {first} partition(s); {asked.count} is not more"
        )
    if asked.assignments is not None and len(asked.assignments) != more:
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{more} partition(s) would be added, but {len(asked.assignments)} are assigned",
        )
    if more > room:
        raise ApiError(ErrorCode.POLICY_VIOLATION, f"one request may create at most {PARTITIONS_MAX} partitions")


def _result(name: str, code: ErrorCode = ErrorCode.NONE, message: str | None = None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=code, error_message=message)
