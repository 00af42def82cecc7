"""Topics.

Settings of one topic. Each falls back to the broker setting named beside it.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import BOOLEAN, DOUBLE, INT, LIST, LONG, STRING
from tidelog.config.setting import Scope, Synonym, optional, setting
from tidelog.config.settings import cleaner, log, replication, requests, tiered
from tidelog.config.table import table
from tidelog.config.units import DAY_MS, GIB, HOUR_MS, KIB, LONG_MAX, MIB, MINUTE_MS
from tidelog.config.validators import all_of, at_least, between, either, one_of

SEGMENT_BYTES = setting(
    "segment.bytes",
    INT,
    GIB,
    "The largest size of one segment file.",
    validator=at_least(MIB),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_SEGMENT_BYTES),),
)

SEGMENT_MS = setting(
    "segment.ms",
    LONG,
    7 * DAY_MS,
    "A segment is closed after this long, even when it is not full.",
    validator=at_least(1),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_ROLL_MS), Synonym(log.LOG_ROLL_HOURS, HOUR_MS)),
)

SEGMENT_JITTER_MS = setting(
    "segment.jitter.ms",
    LONG,
    0,
    "The longest random time taken off `segment.ms`, so that segments do not all close at once.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_ROLL_JITTER_MS), Synonym(log.LOG_ROLL_JITTER_HOURS, HOUR_MS)),
)

SEGMENT_INDEX_BYTES = setting(
    "segment.index.bytes",
    INT,
    10 * MIB,
    "The largest size of an offset or time index; a full index closes its segment.",
    validator=at_least(4),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_INDEX_SIZE_MAX_BYTES),),
)

INDEX_INTERVAL_BYTES = setting(
    "index.interval.bytes",
    INT,
    4 * KIB,
    "One entry in the offset index for about this many bytes of log.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_INDEX_INTERVAL_BYTES),),
)

PREALLOCATION = table(
    setting("preallocate", BOOLEAN, False,
            "Reserve a segment's full size when it is created.",
            scope=Scope.TOPIC, synonyms=(Synonym(log.LOG_PREALLOCATE),)),
    harmless="A hint to file systems that do badly with growing files; segments grow as they are written.",
)  # fmt: skip

FILE_DELETE_DELAY_MS = setting(
    "file.delete.delay.ms",
    LONG,
    MINUTE_MS,
    "How long a deleted segment keeps lying under its `.deleted` name before the file goes.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_SEGMENT_DELETE_DELAY_MS),),
)

CLEANUP_POLICY = setting(
    "cleanup.policy",
    LIST,
    ("delete",),
    "What happens to old data: `delete` it, `compact` it by key, or both. Empty keeps everything.",
    validator=all_of("compact", "delete"),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_CLEANUP_POLICY),),
)

RETENTION_MS = setting(
    "retention.ms",
    LONG,
    7 * DAY_MS,
    "Segments older than this are deleted. -1: never because of age.",
    validator=at_least(-1),
    scope=Scope.TOPIC,
    synonyms=(
        Synonym(log.LOG_RETENTION_MS),
        Synonym(log.LOG_RETENTION_MINUTES, MINUTE_MS),
        Synonym(log.LOG_RETENTION_HOURS, HOUR_MS),
    ),
)

RETENTION_BYTES = setting(
    "retention.bytes",
    LONG,
    -1,
    "The oldest segments are deleted while a partition is larger than this. -1: no limit.",
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_RETENTION_BYTES),),
)

FLUSH_MESSAGES = setting(
    "flush.messages",
    LONG,
    LONG_MAX,
    "Sync a partition to disk after this many records. 1: every append is synced before it is acknowledged.",
    validator=at_least(1),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_FLUSH_INTERVAL_MESSAGES),),
)

FLUSH_MS = setting(
    "flush.ms",
    LONG,
    LONG_MAX,
    "The longest that a record stays unsynced.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_FLUSH_INTERVAL_MS), Synonym(log.LOG_FLUSH_SCHEDULER_INTERVAL_MS)),
)

MIN_CLEANABLE_DIRTY_RATIO = setting(
    "min.cleanable.dirty.ratio",
    DOUBLE,
    0.5,
    "Compact a partition when this share of its bytes has not been compacted yet.",
    validator=between(0, 1),
    scope=Scope.TOPIC,
    synonyms=(Synonym(cleaner.LOG_CLEANER_MIN_CLEANABLE_RATIO),),
)

DELETE_RETENTION_MS = setting(
    "delete.retention.ms",
    LONG,
    DAY_MS,
    "How long a tombstone (and a transaction marker) stays after it could go, so that a "
    "reader who started earlier still sees it.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(cleaner.LOG_CLEANER_DELETE_RETENTION_MS),),
)

MIN_COMPACTION_LAG_MS = setting(
    "min.compaction.lag.ms",
    LONG,
    0,
    "A record younger than this is not compacted away.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(cleaner.LOG_CLEANER_MIN_COMPACTION_LAG_MS),),
)

MAX_COMPACTION_LAG_MS = setting(
    "max.compaction.lag.ms",
    LONG,
    LONG_MAX,
    "A record older than this is due for compaction, whatever the ratio.",
    validator=at_least(1),
    scope=Scope.TOPIC,
    synonyms=(Synonym(cleaner.LOG_CLEANER_MAX_COMPACTION_LAG_MS),),
)

MAX_MESSAGE_BYTES = setting(
    "max.message.bytes",
    INT,
    MIB + 12,
    "The largest record batch (after compression) that the topic accepts.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(requests.MESSAGE_MAX_BYTES),),
)

MESSAGE_TIMESTAMP_TYPE = setting(
    "message.timestamp.type",
    STRING,
    "CreateTime",
    "Whether a record carries the producer's time (`CreateTime`) or the broker's (`LogAppendTime`).",
    validator=one_of("CreateTime", "LogAppendTime"),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_MESSAGE_TIMESTAMP_TYPE),),
)

MESSAGE_TIMESTAMP_BEFORE_MAX_MS = setting(
    "message.timestamp.before.max.ms",
    LONG,
    LONG_MAX,
    "Refuse a record whose CreateTime is more than this in the past.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS),),
)

MESSAGE_TIMESTAMP_AFTER_MAX_MS = setting(
    "message.timestamp.after.max.ms",
    LONG,
    HOUR_MS,
    "Refuse a record whose CreateTime is more than this in the future.",
    validator=at_least(0),
    scope=Scope.TOPIC,
    synonyms=(Synonym(log.LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS),),
)

COMPRESSION_TYPE = setting(
    "compression.type",
    STRING,
    "producer",
    "How batches are compressed in the log: a codec, `uncompressed`, or `producer` to keep what the producer chose.",
    validator=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    scope=Scope.TOPIC,
    synonyms=(Synonym(requests.COMPRESSION_TYPE),),
)

COMPRESSION_GZIP_LEVEL = setting(
    "compression.gzip.level",
    INT,
    -1,
    "The gzip level when the broker compresses. -1: the library's default.",
    validator=either(between(1, 9), -1),
    scope=Scope.TOPIC,
    synonyms=(Synonym(requests.COMPRESSION_GZIP_LEVEL),),
)

COMPRESSION_LZ4_LEVEL = setting(
    "compression.lz4.level",
    INT,
    9,
    "The lz4 level when the broker compresses.",
    validator=between(1, 17),
    scope=Scope.TOPIC,
    synonyms=(Synonym(requests.COMPRESSION_LZ4_LEVEL),),
)

COMPRESSION_ZSTD_LEVEL = setting(
    "compression.zstd.level",
    INT,
    3,
    "The zstd level when the broker compresses.",
    validator=between(-131_072, 22),
    scope=Scope.TOPIC,
    synonyms=(Synonym(requests.COMPRESSION_ZSTD_LEVEL),),
)

MIN_INSYNC_REPLICAS = setting(
    "min.insync.replicas",
    INT,
    1,
    "Replicas that must hold a record before acks=all is answered. With fewer in sync, such writes are refused.",
    validator=at_least(1),
    scope=Scope.TOPIC,
    synonyms=(Synonym(replication.MIN_INSYNC_REPLICAS),),
)

UNCLEAN_LEADER_ELECTION_ENABLE = setting(
    "unclean.leader.election.enable",
    BOOLEAN,
    False,
    "Let a replica that is not in sync become leader when no other is left. Loses acknowledged records.",
    scope=Scope.TOPIC,
    synonyms=(Synonym(replication.UNCLEAN_LEADER_ELECTION_ENABLE),),
)

THROTTLED_REPLICAS = table(
    setting("leader.replication.throttled.replicas", LIST, (),
            "Replicas throttled on the leader's side, as `partition:broker`, or `*` for all.",
            validator=forms.THROTTLED_REPLICAS),
    setting("follower.replication.throttled.replicas", LIST, (),
            "Replicas throttled on the follower's side, as `partition:broker`, or `*` for all.",
            validator=forms.THROTTLED_REPLICAS),
    scope=Scope.TOPIC,
    harmless=unserved.OF_REPLICATION,
)  # fmt: skip

REMOTE_STORAGE_ENABLE = setting(
    "remote.storage.enable",
    BOOLEAN,
    False,
    "Copy closed segments to the remote store. Needs `remote.log.storage.system.enable`, "
    "and `cleanup.policy` without `compact`.",
    scope=Scope.TOPIC,
    refused=unserved.NO_TIERED_STORAGE,
)

LOCAL_RETENTION = table(
    setting("local.retention.ms", LONG, -2,
            "How long segments stay on local disk once they are in the store. -2: as long as `retention.ms` says.",
            validator=at_least(-2), synonyms=(Synonym(tiered.LOG_LOCAL_RETENTION_MS),)),
    setting("local.retention.bytes", LONG, -2,
            "How many bytes of a partition stay on local disk once they are in the store. -2: as many as "
            "`retention.bytes` says.", validator=at_least(-2), synonyms=(Synonym(tiered.LOG_LOCAL_RETENTION_BYTES),)),
    setting("remote.log.copy.disable", BOOLEAN, False,
            "Copy nothing more to the store, but keep serving what is there."),
    setting("remote.log.delete.on.disable", BOOLEAN, False,
            "When `remote.storage.enable` is turned off, delete what is in the store."),
    scope=Scope.TOPIC,
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip

INTERNAL_SEGMENT_BYTES = optional(
    "internal.segment.bytes",
    INT,
    "Overrides `segment.bytes` below its minimum. Only for testing.",
    scope=Scope.TOPIC,
    internal=True,
)
