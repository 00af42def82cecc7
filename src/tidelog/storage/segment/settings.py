"""What a topic's settings mean for a new segment of one of its logs."""

from zlib import crc32

from tidelog.config.topic_config import TopicConfig
from tidelog.model.ids import TopicPartition
from tidelog.storage.segment.indexes import IndexSettings


def index_settings(config: TopicConfig) -> IndexSettings:
    return IndexSettings(config.index_interval_bytes, config.segment_index_bytes)


def roll_jitter_ms(topic_partition: TopicPartition, base_offset: int, jitter_ms: int) -> int:
    """By how much earlier than `segment.ms` a segment rolls. Spread by a hash, not by chance: a restart or another
    replica comes to the same."""
    return crc32(f"{topic_partition} {base_offset}".encode()) % jitter_ms if jitter_ms else 0
