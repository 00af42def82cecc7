"""DescribeLogDirs and AlterReplicaLogDirs: what lies in which log directory, and moving it to another.

An answer per directory: an offline one says so and lists nothing. A move is under way when it is accepted; how far the
copy is behind is the lag of its `future` entry.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import StorageFault
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from tidelog.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tidelog.server.requests.handler import Handler, RequestContext, Steps, answer_or_begin, run_whole, whole
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.log.log import Log

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

UNKNOWN_BYTES: Final = -1
UNIQUE_BYTES: Final = 16
Wanted = Callable[[TopicPartition], bool]


def describe_steps(
    broker: "Broker", _context: RequestContext, body: DescribeLogDirsRequest
) -> Steps[DescribeLogDirsResponse]:
    wanted = yield from _wanted(body)
    response = DescribeLogDirsResponse(throttle_time_ms=0, results=[])
    for directory in broker.logs.directories.values():
        response.results.append((yield from _directory(broker, directory, wanted)))
    return response


def describe(broker: "Broker", context: RequestContext, body: DescribeLogDirsRequest) -> DescribeLogDirsResponse | None:
    """In slices where it is about more than a turn has time for, however short the request is."""
    described: DescribeLogDirsResponse | None = answer_or_begin(
        context, body, describe_steps, sum(len(each.logs) for each in broker.logs.directories.values())
    )
    return described


def _wanted(body: DescribeLogDirsRequest) -> Steps[Wanted]:
    if body.topics is None:
        return lambda _topic_partition: True
    asked: set[TopicPartition] = set()
    for topic in body.topics:
        yield
        for index in topic.partitions:
            asked.add(TopicPartition(topic.topic, index))
            yield
    return asked.__contains__


def _directory(broker: "Broker", directory: LogDirectory, wanted: Wanted) -> Steps[DescribeLogDirsResult]:
    if not directory.is_online:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path, topics=[])
    total, usable = _space(broker, directory)
    return DescribeLogDirsResult(
        error_code=ErrorCode.NONE,
        log_dir=directory.path,
        topics=(yield from _topics(broker, directory, wanted)),
        total_bytes=total,
        usable_bytes=usable,
        is_cordoned=directory.path in broker.logs.cordoned or "*" in broker.logs.cordoned,
    )


def _space(broker: "Broker", directory: LogDirectory) -> tuple[int, int]:
    try:
        space = directory.fs.space(directory.path)
    except StorageFault as fault:
        broker.logs.report(directory.path, fault)
        return UNKNOWN_BYTES, UNKNOWN_BYTES
    return space.total_bytes, space.usable_bytes


def _topics(broker: "Broker", directory: LogDirectory, wanted: Wanted) -> Steps[list[DescribeLogDirsTopic]]:
    by_topic: dict[str, DescribeLogDirsTopic] = {}
    for logs, is_future in ((directory.logs, False), (directory.futures, True)):
        for topic_partition, log in list(logs.items()):  # which may change while others have their turn
            yield
            if wanted(topic_partition):
                topic = by_topic.setdefault(
                    topic_partition.topic, DescribeLogDirsTopic(name=topic_partition.topic, partitions=[])
                )
                topic.partitions.append(_partition(broker, topic_partition, log, is_future))
    return list(by_topic.values())


def _partition(
    broker: "Broker", topic_partition: TopicPartition, log: Log, is_future: bool
) -> DescribeLogDirsPartition:
    lag = (
        (broker.logs.moves.future_lag(topic_partition) or 0)
        if is_future
        else max(0, log.high_watermark - log.log_end_offset)
    )
    return DescribeLogDirsPartition(
        partition_index=topic_partition.partition,
        partition_size=log.size_bytes,
        offset_lag=lag,
        is_future_key=is_future,
    )


def refuse_describe(_body: DescribeLogDirsRequest, code: ErrorCode, _message: str | None) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(throttle_time_ms=0, error_code=code, results=[])


def alter_steps(
    broker: "Broker", _context: RequestContext, body: AlterReplicaLogDirsRequest
) -> Steps[AlterReplicaLogDirsResponse]:
    def move(topic_partition: TopicPartition, path: str) -> ErrorCode:
        if not broker.has_partition(topic_partition):
            is_there = path in broker.logs.directories
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_there else ErrorCode.LOG_DIR_NOT_FOUND
        return broker.logs.alter_directory(topic_partition, path, broker.entropy.random_bytes(UNIQUE_BYTES).hex())

    return (yield from _altered(body, move))


def refuse_alter(
    body: AlterReplicaLogDirsRequest, code: ErrorCode, _message: str | None
) -> AlterReplicaLogDirsResponse:
    return run_whole(_altered(body, lambda _topic_partition, _path: code))


def _altered(
    body: AlterReplicaLogDirsRequest, move: Callable[[TopicPartition, str], ErrorCode]
) -> Steps[AlterReplicaLogDirsResponse]:
    by_topic: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in body.dirs:
        yield
        for topic in directory.topics:
            yield
            result = by_topic.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name, partitions=[])
            )
            for index in topic.partitions:
                code = move(TopicPartition(topic.name, index), directory.path)
                result.partitions.append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code))
                yield
    return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=list(by_topic.values()))


DESCRIBE_LOG_DIRS = Handler(ApiKey.DESCRIBE_LOG_DIRS, describe, refuse_describe, steps=describe_steps)
ALTER_REPLICA_LOG_DIRS = Handler(ApiKey.ALTER_REPLICA_LOG_DIRS, whole(alter_steps), refuse_alter, steps=alter_steps)
