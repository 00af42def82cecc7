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
from tidelog.server.handling import Handler, RequestContext
from tidelog.storage.log import Log
from tidelog.storage.log_directory import LogDirectory

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

UNKNOWN_BYTES: Final = -1
UNIQUE_BYTES: Final = 16
Wanted = Callable[[TopicPartition], bool]


def describe(broker: "Broker", _context: RequestContext, body: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted = _wanted(body)
    results = [_directory(broker, each, wanted) for each in broker.logs.directories.values()]
    return DescribeLogDirsResponse(throttle_time_ms=0, results=results)


def _wanted(body: DescribeLogDirsRequest) -> Wanted:
    if body.topics is None:
        return lambda _place: True
    asked = {TopicPartition(topic.topic, index) for topic in body.topics for index in topic.partitions}
    return asked.__contains__


def _directory(broker: "Broker", directory: LogDirectory, wanted: Wanted) -> DescribeLogDirsResult:
    if not directory.is_online:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=directory.path, topics=[])
    total, usable = _space(broker, directory)
    return DescribeLogDirsResult(
        error_code=ErrorCode.NONE,
        log_dir=directory.path,
        topics=_topics(broker, directory, wanted),
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


def _topics(broker: "Broker", directory: LogDirectory, wanted: Wanted) -> list[DescribeLogDirsTopic]:
    by_topic: dict[str, DescribeLogDirsTopic] = {}
    for logs, is_future in ((directory.logs, False), (directory.futures, True)):
        for place, log in logs.items():
            if wanted(place):
                topic = by_topic.setdefault(place.topic, DescribeLogDirsTopic(name=place.topic, partitions=[]))
                topic.partitions.append(_partition(broker, place, log, is_future))
    return list(by_topic.values())


def _partition(broker: "Broker", place: TopicPartition, log: Log, is_future: bool) -> DescribeLogDirsPartition:
    lag = (broker.logs.moves.future_lag(place) or 0) if is_future else max(0, log.high_watermark - log.log_end_offset)
    return DescribeLogDirsPartition(
        partition_index=place.partition, partition_size=log.size_bytes, offset_lag=lag, is_future_key=is_future
    )


def refuse_describe(_body: DescribeLogDirsRequest, code: ErrorCode, _message: str | None) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(throttle_time_ms=0, error_code=code, results=[])


def alter(broker: "Broker", _context: RequestContext, body: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    def move(place: TopicPartition, path: str) -> ErrorCode:
        if not broker.has_partition(place):
            is_there = path in broker.logs.directories
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_there else ErrorCode.LOG_DIR_NOT_FOUND
        return broker.logs.alter_directory(place, path, broker.entropy.random_bytes(UNIQUE_BYTES).hex())

    return _altered(body, move)


def refuse_alter(
    body: AlterReplicaLogDirsRequest, code: ErrorCode, _message: str | None
) -> AlterReplicaLogDirsResponse:
    return _altered(body, lambda _place, _path: code)


def _altered(
    body: AlterReplicaLogDirsRequest, move: Callable[[TopicPartition, str], ErrorCode]
) -> AlterReplicaLogDirsResponse:
    by_topic: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in body.dirs:
        for topic in directory.topics:
            result = by_topic.setdefault(
                topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name, partitions=[])
            )
            for index in topic.partitions:
                code = move(TopicPartition(topic.name, index), directory.path)
                result.partitions.append(AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(throttle_time_ms=0, results=list(by_topic.values()))


DESCRIBE_LOG_DIRS = Handler(ApiKey.DESCRIBE_LOG_DIRS, describe, refuse_describe)
ALTER_REPLICA_LOG_DIRS = Handler(ApiKey.ALTER_REPLICA_LOG_DIRS, alter, refuse_alter)
