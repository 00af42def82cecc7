"""What a topic's settings mean for a new segment of one of its logs."""

from zlib import crc32

from tidelog.config.topic_config import TopicConfig
from tidelog.model.ids import TopicPartition
from tidelog.storage.segment.indexes import IndexSettings


def index_settings(config: TopicConfig) -> IndexSettings:
    return IndexSettings(config.index_interval_bytes, config.segment_index_bytes)


def roll_jitter_ms(topic_partition: TopicPartition, base_offset: int, jitter_ms: int) -> int:
    """The time by which a segment rolls earlier than `segment.ms`. It is spread by a hash, not at random: after a
    restart, or on another replica, it is the same."""
    return crc32(f"{topic_partition} {base_offset}".encode()) % jitter_ms if jitter_ms else 0
