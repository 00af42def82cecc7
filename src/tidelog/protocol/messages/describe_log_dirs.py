"""DescribeLogDirs: the log directories of a broker and what lies in them.

3 has an error at the top, 4 the size of the volume, 5 whether the directory is cordoned.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string, struct


@struct
class DescribableLogDirTopic:
    topic: string
    partitions: list[int32]


@request(api_key=35, versions="1-5", flexible="2+")
class DescribeLogDirsRequest:
    topics: list[DescribableLogDirTopic] | None = field(nullable="0+")


@struct
class DescribeLogDirsPartition:
    partition_index: int32
    partition_size: int64
    offset_lag: int64
    is_future_key: boolean


@struct
class DescribeLogDirsTopic:
    name: string
    partitions: list[DescribeLogDirsPartition]


@struct
class DescribeLogDirsResult:
    error_code: int16
    log_dir: string
    topics: list[DescribeLogDirsTopic]
    total_bytes: int64 = field("4+", default=-1, ignorable=True)
    usable_bytes: int64 = field("4+", default=-1, ignorable=True)
    is_cordoned: boolean = field("5+", default=False, ignorable=True)


@response(api_key=35, versions="1-5", flexible="2+")
class DescribeLogDirsResponse:
    throttle_time_ms: int32
    error_code: int16 = field("3+", default=0, ignorable=True)
    results: list[DescribeLogDirsResult]
