"""Metadata log.

The `__cluster_metadata` log, its snapshots and how much of it is kept.
"""

from tidelog.config.kinds import INT, LONG, STRING
from tidelog.config.setting import Importance, optional, setting
from tidelog.config.table import table
from tidelog.config.units import DAY_MS, GIB, HOUR_MS, MIB, MINUTE_MS
from tidelog.config.validators import at_least

METADATA_LOG_DIR = optional(
    "metadata.log.dir",
    STRING,
    "The directory of the metadata log. By default, the first of `log.dirs`.",
    importance=Importance.HIGH,
)

METADATA_LOG_SEGMENT_BYTES = setting(
    "metadata.log.segment.bytes",
    INT,
    GIB,
    "The largest size of one segment file of the metadata log.",
    validator=at_least(8 * MIB),
    importance=Importance.HIGH,
)

METADATA_LOG_SEGMENT_MS = setting(
    "metadata.log.segment.ms",
    LONG,
    7 * DAY_MS,
    "A segment of the metadata log is closed after this long, even when it is not full.",
    importance=Importance.HIGH,
)

METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS = setting(
    "metadata.log.max.record.bytes.between.snapshots",
    LONG,
    20 * MIB,
    "Write a snapshot after this many bytes of new records.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

METADATA_LOG_MAX_SNAPSHOT_INTERVAL_MS = setting(
    "metadata.log.max.snapshot.interval.ms",
    LONG,
    HOUR_MS,
    "Write a snapshot at least this often while there are new records. 0: never because of time.",
    validator=at_least(0),
    importance=Importance.HIGH,
)

METADATA_MAX_RETENTION_BYTES = setting(
    "metadata.max.retention.bytes",
    LONG,
    100 * MIB,
    "Delete old snapshots and segments beyond this size, always keeping the latest snapshot. Negative: no limit.",
    importance=Importance.HIGH,
)

METADATA_MAX_RETENTION_MS = setting(
    "metadata.max.retention.ms",
    LONG,
    7 * DAY_MS,
    "Delete snapshots and segments older than this, always keeping the latest snapshot. Negative: no limit.",
    importance=Importance.HIGH,
)

NO_OP_RECORDS = table(
    setting("metadata.max.idle.interval.ms", INT, 500,
            "When nothing else happens, the active controller writes a no-op record this often, so that followers see "
            "its progress. 0: never.", validator=at_least(0), importance=Importance.LOW),
    harmless="No-op records keep lagging observers visible, and a node has no observers yet.",
)  # fmt: skip

INTERNAL_METADATA_LOG_SEGMENT_BYTES = optional(
    "internal.metadata.log.segment.bytes",
    INT,
    "Overrides `metadata.log.segment.bytes` below its minimum. Only for testing.",
    importance=Importance.LOW,
    internal=True,
)

INTERNAL_METADATA_MAX_BATCH_SIZE_IN_BYTES = setting(
    "internal.metadata.max.batch.size.in.bytes",
    INT,
    8 * MIB,
    "The largest batch that the metadata log accepts. Only for testing.",
    importance=Importance.LOW,
    internal=True,
)

DELETION_DELAY = table(
    setting("internal.metadata.delete.delay.millis", LONG, MINUTE_MS,
            "How long a deleted metadata file keeps lying under its `.deleted` name. Only for testing.",
            importance=Importance.LOW, internal=True),
    harmless="Files of the metadata log that are no longer needed go after a minute, which is the default.",
)  # fmt: skip
