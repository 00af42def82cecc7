"""What a topic's settings ask of every append, worked out once when they change and not once a batch.

The inflater comes from the caller because its scratch buffer grows to the largest batch it has seen: one a broker is
right, one a partition would hold that memory ten thousand times.
"""

from dataclasses import dataclass
from typing import Final

from tidelog.config.topic_config import TopicConfig
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.header import MAX_INT64
from tidelog.storage.append.weight import inline_compressed_bytes

_PRODUCER: Final = "producer"
_UNCOMPRESSED: Final = "uncompressed"
_LOG_APPEND_TIME: Final = "LogAppendTime"


@dataclass(slots=True)
class AppendRules:
    max_message_bytes: int
    segment_bytes_max: int
    needs_keys: bool
    is_log_append_time: bool
    timestamp_before_max_ms: int  # both without a bound under LogAppendTime: the producer's times mean nothing there
    timestamp_after_max_ms: int
    compression: CompressionType | None  # None: what the producer chose
    compression_level: int | None
    inflater: Inflater
    inline_compressed_bytes: int = MAX_INT64  # what may be compressed within a turn: see `append.weight`


def append_rules(config: TopicConfig, inflater: Inflater) -> AppendRules:
    compression = _target(config.compression_type)
    level = _level(config, compression)
    stamps = config.message_timestamp_type == _LOG_APPEND_TIME
    return AppendRules(
        max_message_bytes=config.max_message_bytes,
        segment_bytes_max=config.segment_bytes_max,
        needs_keys=config.compacts,
        is_log_append_time=stamps,
        timestamp_before_max_ms=MAX_INT64 if stamps else config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=MAX_INT64 if stamps else config.message_timestamp_after_max_ms,
        compression=compression,
        compression_level=level,
        inflater=inflater,
        inline_compressed_bytes=inline_compressed_bytes(compression, level),
    )


def _target(name: str) -> CompressionType | None:
    if name == _PRODUCER:
        return None
    return CompressionType.NONE if name == _UNCOMPRESSED else CompressionType[name.upper()]


def _level(config: TopicConfig, compression: CompressionType | None) -> int | None:
    match compression:
        case CompressionType.GZIP:
            return config.compression_gzip_level
        case CompressionType.LZ4:
            return config.compression_lz4_level
        case CompressionType.ZSTD:
            return config.compression_zstd_level
        case _:
            return None
