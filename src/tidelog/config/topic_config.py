"""The configuration of one topic, resolved once into plain attributes: the log reads them at every append."""

from collections.abc import Mapping
from typing import TypeVar

from tidelog.config.layers import ConfigSource, Layers, resolve_override
from tidelog.config.setting import Setting
from tidelog.config.settings import topic
from tidelog.model.lazy_dataclass import dataclass

V = TypeVar("V")

UNLIMITED = -1


@dataclass(slots=True)
class TopicConfig:
    """The settings of one topic that are honoured, named as the settings are, dots turned to underscores."""

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    segment_index_bytes: int
    index_interval_bytes: int
    file_delete_delay_ms: int
    cleanup_policy: tuple[str, ...]
    retention_ms: int
    retention_bytes: int
    flush_messages: int
    flush_ms: int
    min_cleanable_dirty_ratio: float
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    min_insync_replicas: int
    unclean_leader_election_enable: bool
    internal_segment_bytes: int | None

    @property
    def compacts(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def segment_bytes_max(self) -> int:
        """The size at which a segment really rolls: tests may set one that is smaller than Kafka allows."""
        return self.segment_bytes if self.internal_segment_bytes is None else self.internal_segment_bytes

    @property
    def segment_ms_max(self) -> int:
        """The age at which a segment rolls. A compacted topic cannot keep a segment open beyond the lag it promises."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compacts else self.segment_ms


def resolve_topic_config(overrides: Mapping[str, str], layers: Layers) -> TopicConfig:
    """Return the configuration of a topic: its overrides, whose text must be valid, over what its broker says."""

    def read(setting: Setting[V]) -> V:
        return resolve_override(setting, overrides, ConfigSource.DYNAMIC_TOPIC_CONFIG, layers).value

    return TopicConfig(
        segment_bytes=read(topic.SEGMENT_BYTES),
        segment_ms=read(topic.SEGMENT_MS),
        segment_jitter_ms=read(topic.SEGMENT_JITTER_MS),
        segment_index_bytes=read(topic.SEGMENT_INDEX_BYTES),
        index_interval_bytes=read(topic.INDEX_INTERVAL_BYTES),
        file_delete_delay_ms=read(topic.FILE_DELETE_DELAY_MS),
        cleanup_policy=read(topic.CLEANUP_POLICY),
        # A broker may say any negative number for "never".
        retention_ms=max(read(topic.RETENTION_MS), UNLIMITED),
        retention_bytes=read(topic.RETENTION_BYTES),
        flush_messages=read(topic.FLUSH_MESSAGES),
        flush_ms=read(topic.FLUSH_MS),
        min_cleanable_dirty_ratio=read(topic.MIN_CLEANABLE_DIRTY_RATIO),
        delete_retention_ms=read(topic.DELETE_RETENTION_MS),
        min_compaction_lag_ms=read(topic.MIN_COMPACTION_LAG_MS),
        max_compaction_lag_ms=read(topic.MAX_COMPACTION_LAG_MS),
        max_message_bytes=read(topic.MAX_MESSAGE_BYTES),
        message_timestamp_type=read(topic.MESSAGE_TIMESTAMP_TYPE),
        message_timestamp_before_max_ms=read(topic.MESSAGE_TIMESTAMP_BEFORE_MAX_MS),
        message_timestamp_after_max_ms=read(topic.MESSAGE_TIMESTAMP_AFTER_MAX_MS),
        compression_type=read(topic.COMPRESSION_TYPE),
        compression_gzip_level=read(topic.COMPRESSION_GZIP_LEVEL),
        compression_lz4_level=read(topic.COMPRESSION_LZ4_LEVEL),
        compression_zstd_level=read(topic.COMPRESSION_ZSTD_LEVEL),
        min_insync_replicas=read(topic.MIN_INSYNC_REPLICAS),
        unclean_leader_election_enable=read(topic.UNCLEAN_LEADER_ELECTION_ENABLE),
        internal_segment_bytes=read(topic.INTERNAL_SEGMENT_BYTES),
    )
