"""Log, segments, retention and flush.

Where the data lies, how it is cut into segments, how long it stays and when it reaches the disk.
"""

from tidelog.config.kinds import BOOLEAN, INT, LIST, LONG, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import GIB, HOUR_MS, KIB, LONG_MAX, MIB, MINUTE_MS, SECOND_MS
from tidelog.config.validators import all_of, at_least, entries, one_of

LOG_DIRS = optional(
    "log.dirs",
    LIST,
    "The directories that hold the partitions, separated by commas. When not set, `log.dir`.",
    validator=entries(empty=False),
    importance=Importance.HIGH,
)

LOG_DIR = setting(
    "log.dir",
    LIST,
    ("/tmp/kafka-logs",),
    "The directory that holds the partitions when `log.dirs` is not set.",
    validator=entries(empty=False),
    importance=Importance.HIGH,
)

CORDONED_LOG_DIRS = setting(
    "cordoned.log.dirs",
    LIST,
    (),
    "Log directories in which no new partition is placed; `*` is all of them. What they hold stays and is served.",
    validator=entries(empty=True),
    scope=Scope.PER_BROKER,
)

DIRECTORY_FAILURE = table(
    setting("log.dir.failure.timeout.ms", LONG, 30 * SECOND_MS,
            "A broker that cannot tell the controller about a failed log directory within this time stops, so that "
            "its partitions find another leader.", validator=at_least(1), importance=Importance.LOW),
    harmless="The controller runs in this node and hears of a failed directory at once.",
)  # fmt: skip

LOG_SEGMENT_BYTES = setting(
    "log.segment.bytes",
    INT,
    GIB,
    "The largest size of one segment file.",
    validator=at_least(MIB),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

LOG_ROLL_MS = optional(
    "log.roll.ms",
    LONG,
    "A segment is closed after this long, even when it is not full. When not set, `log.roll.hours`.",
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
    family=("log.roll.ms", "log.roll.hours"),
)

LOG_ROLL_HOURS = setting(
    "log.roll.hours",
    INT,
    168,
    "The same in hours.",
    validator=at_least(1),
    importance=Importance.HIGH,
    family=("log.roll.ms", "log.roll.hours"),
)

LOG_ROLL_JITTER_MS = optional(
    "log.roll.jitter.ms",
    LONG,
    "The longest random time taken off `log.roll.ms`, so that segments do not all close at "
    "once. When not set, `log.roll.jitter.hours`.",
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
    family=("log.roll.jitter.ms", "log.roll.jitter.hours"),
)

LOG_ROLL_JITTER_HOURS = setting(
    "log.roll.jitter.hours",
    INT,
    0,
    "The same in hours.",
    validator=at_least(0),
    importance=Importance.HIGH,
    family=("log.roll.jitter.ms", "log.roll.jitter.hours"),
)

LOG_RETENTION_MS = optional(
    "log.retention.ms",
    LONG,
    "Segments older than this are deleted. -1: never because of age. When not set, `log.retention.minutes`.",
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
    family=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)

LOG_RETENTION_MINUTES = optional(
    "log.retention.minutes",
    INT,
    "The same in minutes. When not set, `log.retention.hours`.",
    importance=Importance.HIGH,
    family=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)

LOG_RETENTION_HOURS = setting(
    "log.retention.hours",
    INT,
    168,
    "The same in hours.",
    importance=Importance.HIGH,
    family=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)

LOG_RETENTION_BYTES = setting(
    "log.retention.bytes",
    LONG,
    -1,
    "The oldest segments are deleted while a partition is larger than this. -1: no limit.",
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

LOG_RETENTION_CHECK_INTERVAL_MS = setting(
    "log.retention.check.interval.ms",
    LONG,
    5 * MINUTE_MS,
    "How often to look for segments to delete.",
    validator=at_least(1),
)

LOG_CLEANUP_POLICY = setting(
    "log.cleanup.policy",
    LIST,
    ("delete",),
    "What happens to old data: `delete` it, `compact` it by key, or both. Empty keeps everything.",
    validator=all_of("compact", "delete"),
    scope=Scope.CLUSTER_WIDE,
)

LOG_SEGMENT_DELETE_DELAY_MS = setting(
    "log.segment.delete.delay.ms",
    LONG,
    MINUTE_MS,
    "How long a deleted segment keeps lying under its `.deleted` name before the file goes.",
    validator=at_least(0),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

LOG_INDEX_SIZE_MAX_BYTES = setting(
    "log.index.size.max.bytes",
    INT,
    10 * MIB,
    "The largest size of an offset or time index; a full index closes its segment.",
    validator=at_least(4),
    scope=Scope.CLUSTER_WIDE,
)

LOG_INDEX_INTERVAL_BYTES = setting(
    "log.index.interval.bytes",
    INT,
    4 * KIB,
    "One entry in the offset index for about this many bytes of log.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

LOG_PREALLOCATE = setting(
    "log.preallocate",
    BOOLEAN,
    False,
    "Reserve a segment's full size when it is created.",
    scope=Scope.CLUSTER_WIDE,
    harmless="A hint to file systems that do badly with growing files; segments grow as they are written.",
)

LOG_FLUSH_INTERVAL_MESSAGES = setting(
    "log.flush.interval.messages",
    LONG,
    LONG_MAX,
    "Sync a partition to disk after this many records. 1: every append is synced before it is acknowledged.",
    validator=at_least(1),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

LOG_FLUSH_INTERVAL_MS = optional(
    "log.flush.interval.ms",
    LONG,
    "The longest that a record stays unsynced. When not set, `log.flush.scheduler.interval.ms`.",
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
    family=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
)

LOG_FLUSH_SCHEDULER_INTERVAL_MS = setting(
    "log.flush.scheduler.interval.ms",
    LONG,
    LONG_MAX,
    "How often to look for partitions that are due to be synced.",
    importance=Importance.HIGH,
)

LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = setting(
    "log.flush.offset.checkpoint.interval.ms",
    INT,
    MINUTE_MS,
    "How often the recovery point of every partition is written down.",
    validator=at_least(0),
    importance=Importance.HIGH,
)

LOG_TASKS = table(
    setting("log.flush.start.offset.checkpoint.interval.ms", INT, MINUTE_MS,
            "How often the log start offset of every partition is written down.",
            validator=at_least(0), importance=Importance.HIGH,
            harmless="Start offsets are written with the recovery points, every "
            "`log.flush.offset.checkpoint.interval.ms`."),
    setting("log.initial.task.delay.ms", LONG, 30 * SECOND_MS,
            "How long after the start retention, flushing and checkpoints begin.",
            validator=at_least(0), importance=Importance.LOW, internal=True,
            harmless="The first round of each task comes one interval after the start."),
)  # fmt: skip

LOG_MESSAGE_TIMESTAMP_TYPE = setting(
    "log.message.timestamp.type",
    STRING,
    "CreateTime",
    "Whether a record carries the producer's time (`CreateTime`) or the broker's (`LogAppendTime`).",
    validator=one_of("CreateTime", "LogAppendTime"),
    scope=Scope.CLUSTER_WIDE,
)

LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS = setting(
    "log.message.timestamp.before.max.ms",
    LONG,
    LONG_MAX,
    "Refuse a record whose CreateTime is more than this in the past.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS = setting(
    "log.message.timestamp.after.max.ms",
    LONG,
    HOUR_MS,
    "Refuse a record whose CreateTime is more than this in the future.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

RECOVERY_THREADS = table(
    setting("num.recovery.threads.per.data.dir", INT, 2,
            "How many partitions of one directory are recovered at the same time after an unclean stop.",
            validator=at_least(1), importance=Importance.HIGH, scope=Scope.CLUSTER_WIDE),
    harmless="Directories are recovered one partition after the other.",
)  # fmt: skip

LOG_DIR_RESERVED_BYTES = setting(
    "log.dir.reserved.bytes",
    LONG,
    256 * MIB,
    "Free space to keep in every log directory. Below it, writes to the partitions of that "
    "directory are refused with KAFKA_STORAGE_ERROR while reads, deletes and compaction go on; "
    "above it again, writes resume by themselves. Committed offsets, the state of transactions and "
    "their markers may use it. 0: none.",
    validator=at_least(0),
    importance=Importance.HIGH,
    differs="Ours; Kafka has no such setting. A full disk must cost the topics that fill it, never the "
    "node: Apache's broker stops.",
)
