"""The settings of the metadata log, as the few numbers that it needs."""

from dataclasses import replace
from typing import Final

from tidelog.config.broker_config import BrokerConfig
from tidelog.config.layers import Layers
from tidelog.config.settings import metadata_log
from tidelog.config.topic_config import UNLIMITED, TopicConfig, resolve_topic_config
from tidelog.config.units import DAY_MS, GIB, HOUR_MS, MIB
from tidelog.model.lazy_dataclass import dataclass

EVERY_RECORD: Final = 1


@dataclass(slots=True, frozen=True)
class MetadataLogConfig:
    """The numbers that the metadata log is run by."""

    segment_bytes: int = GIB
    segment_ms: int = 7 * DAY_MS
    batch_bytes_max: int = 8 * MIB
    bytes_between_snapshots_max: int = 20 * MIB
    snapshot_interval_ms_max: int = HOUR_MS  # 0: never because of time
    retention_bytes: int = 100 * MIB  # negative: no limit, for both
    retention_ms: int = 7 * DAY_MS


def metadata_log_config(config: BrokerConfig) -> MetadataLogConfig:
    internal_segment_bytes = config.get(metadata_log.INTERNAL_METADATA_LOG_SEGMENT_BYTES)
    return MetadataLogConfig(
        internal_segment_bytes or config.get(metadata_log.METADATA_LOG_SEGMENT_BYTES),
        config.get(metadata_log.METADATA_LOG_SEGMENT_MS),
        config.get(metadata_log.INTERNAL_METADATA_MAX_BATCH_SIZE_IN_BYTES),
        config.get(metadata_log.METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS),
        config.get(metadata_log.METADATA_LOG_MAX_SNAPSHOT_INTERVAL_MS),
        config.get(metadata_log.METADATA_MAX_RETENTION_BYTES),
        config.get(metadata_log.METADATA_MAX_RETENTION_MS),
    )


def log_config(config: MetadataLogConfig) -> TopicConfig:
    """Return the settings as the storage layer takes them. Whatever the broker's own defaults are, this log syncs every
    record, is never compacted, and goes by snapshots instead of by age and size."""
    return replace(
        resolve_topic_config({}, Layers()),
        internal_segment_bytes=config.segment_bytes,
        segment_ms=config.segment_ms,
        max_message_bytes=config.batch_bytes_max,
        flush_messages=EVERY_RECORD,
        cleanup_policy=("delete",),
        retention_ms=UNLIMITED,
        retention_bytes=UNLIMITED,
        compression_type="producer",
        message_timestamp_type="CreateTime",
    )
