"""Consumer groups and offsets.

Group coordinators (classic and KIP-848) and the offsets topic.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import INT, LIST, LONG, SHORT, STRING
from tidelog.config.setting import Importance, Scope, setting
from tidelog.config.table import table
from tidelog.config.units import INT_MAX, KIB, MIB, MINUTE_MS, SECOND_MS
from tidelog.config.validators import all_of, at_least, one_of_ignoring_case

GROUP_COORDINATOR_REBALANCE_PROTOCOLS = setting(
    "group.coordinator.rebalance.protocols",
    LIST,
    ("classic", "consumer", "streams"),
    "The group protocols that are served. `classic` cannot be turned off.",
    validator=all_of("consumer", "classic", "share", "streams", empty=False),
    differs="`streams` is in the list because it is in Kafka's; streams groups are not served. `share` is refused.",
)

GROUP_INITIAL_REBALANCE_DELAY_MS = setting(
    "group.initial.rebalance.delay.ms",
    INT,
    3 * SECOND_MS,
    "How long a classic group waits for more members before its first rebalance.",
    differs=(
        "The default here is Kafka's. Embedded and development nodes start with 0, because "
        "there the first consumer is usually the only one and would wait for nobody."
    ),
)

GROUP_MIN_SESSION_TIMEOUT_MS = setting(
    "group.min.session.timeout.ms",
    INT,
    6 * SECOND_MS,
    "The shortest session timeout that a classic member may ask for.",
)

GROUP_MAX_SESSION_TIMEOUT_MS = setting(
    "group.max.session.timeout.ms",
    INT,
    30 * MINUTE_MS,
    "The longest session timeout that a classic member may ask for.",
)

GROUP_MAX_SIZE = setting("group.max.size", INT, INT_MAX, "Members of a classic group.", validator=at_least(1))

GROUP_CONSUMER_ASSIGNORS = setting(
    "group.consumer.assignors",
    LIST,
    ("uniform", "range"),
    "The server-side assignors that KIP-848 groups may use; the first is the default.",
    validator=forms.CONSUMER_ASSIGNORS,
    differs="`uniform` and `range` are built in; a Java class cannot be loaded.",
)

GROUP_CONSUMER_MIGRATION_POLICY = setting(
    "group.consumer.migration.policy",
    STRING,
    "bidirectional",
    "Whether a group may move between the classic and the KIP-848 protocol while it has members, and which way.",
    validator=one_of_ignoring_case("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
)

GROUP_CONSUMER_SESSION_TIMEOUT_MS = setting(
    "group.consumer.session.timeout.ms",
    INT,
    45 * SECOND_MS,
    "A KIP-848 member that has not been heard of for this long is removed.",
    validator=at_least(1),
)

GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS = setting(
    "group.consumer.min.session.timeout.ms",
    INT,
    45 * SECOND_MS,
    "The lowest session timeout that a group may be configured with.",
    validator=at_least(1),
)

GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS = setting(
    "group.consumer.max.session.timeout.ms",
    INT,
    MINUTE_MS,
    "The highest session timeout that a group may be configured with.",
    validator=at_least(1),
)

GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = setting(
    "group.consumer.heartbeat.interval.ms",
    INT,
    5 * SECOND_MS,
    "How often a KIP-848 member is told to send a heartbeat.",
    validator=at_least(1),
)

GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS = setting(
    "group.consumer.min.heartbeat.interval.ms",
    INT,
    5 * SECOND_MS,
    "The lowest heartbeat interval that a group may be configured with.",
    validator=at_least(1),
)

GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS = setting(
    "group.consumer.max.heartbeat.interval.ms",
    INT,
    15 * SECOND_MS,
    "The highest heartbeat interval that a group may be configured with.",
    validator=at_least(1),
)

GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS = setting(
    "group.consumer.assignment.interval.ms",
    INT,
    SECOND_MS,
    "The least time between two assignments of one KIP-848 group; changes in between are gathered. 0: none.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS = setting(
    "group.consumer.min.assignment.interval.ms",
    INT,
    0,
    "The lowest assignment interval that a group may be configured with.",
    validator=at_least(0),
)

GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS = setting(
    "group.consumer.max.assignment.interval.ms",
    INT,
    15 * SECOND_MS,
    "The highest assignment interval that a group may be configured with.",
    validator=at_least(0),
)

GROUP_CONSUMER_MAX_SIZE = setting(
    "group.consumer.max.size", INT, INT_MAX, "Members of a KIP-848 group.", validator=at_least(1)
)

GROUP_CONSUMER_REGEX_REFRESH_INTERVAL_MS = setting(
    "group.consumer.regex.refresh.interval.ms",
    INT,
    10 * MINUTE_MS,
    "How often topics are matched again with the members' regular expressions.",
    validator=at_least(10 * SECOND_MS),
    internal=True,
)

COORDINATOR_WORK = table(
    setting("group.coordinator.append.linger.ms", INT, -1,
            "How long a coordinator gathers records before it writes them as one batch. -1: decided from the load.",
            validator=at_least(-1),
            harmless="One turn of the event loop is already one batch, and no write waits for more."),
    setting("group.coordinator.cached.buffer.max.bytes", INT, MIB + 12,
            "The largest write buffer that a coordinator keeps for the next batch.",
            validator=at_least(512 * KIB), scope=Scope.CLUSTER_WIDE, harmless=unserved.OF_A_BUFFER),
    setting("group.coordinator.threads", INT, 4,
            "Threads that run group coordinators.",
            validator=at_least(1), importance=Importance.HIGH, harmless=unserved.OF_THREADS),
    setting("group.coordinator.background.threads", INT, 2,
            "Threads for a coordinator's long work.",
            validator=at_least(1), importance=Importance.HIGH, harmless=unserved.OF_THREADS),
)  # fmt: skip

OFFSETS_TOPIC_NUM_PARTITIONS = setting(
    "offsets.topic.num.partitions",
    INT,
    50,
    "Partitions of `__consumer_offsets`. Must not change once the topic exists: it decides "
    "which broker coordinates a group.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

OFFSETS_TOPIC_REPLICATION_FACTOR = setting(
    "offsets.topic.replication.factor",
    SHORT,
    3,
    "Replicas of `__consumer_offsets`.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

OFFSETS_TOPIC_SEGMENT_BYTES = setting(
    "offsets.topic.segment.bytes",
    INT,
    100 * MIB,
    "The segment size of `__consumer_offsets`.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

OFFSETS_TOPIC_COMPRESSION_CODEC = setting(
    "offsets.topic.compression.codec",
    INT,
    0,
    "The codec in which offsets are written: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    validator=forms.CODEC_ID,
    importance=Importance.HIGH,
)

OFFSETS_LOADING = table(
    setting("offsets.load.buffer.size", INT, 5 * MIB,
            "The bytes read at a time while a coordinator loads its partition.",
            validator=at_least(1), importance=Importance.HIGH),
    harmless=unserved.OF_A_BUFFER,
)  # fmt: skip

OFFSETS_RETENTION_MINUTES = setting(
    "offsets.retention.minutes",
    INT,
    10_080,
    "A group's offsets are dropped this long after it became empty.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

OFFSETS_RETENTION_CHECK_INTERVAL_MS = setting(
    "offsets.retention.check.interval.ms",
    LONG,
    10 * MINUTE_MS,
    "How often to look for offsets to drop.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

OFFSETS_REPLICATION = table(
    setting("offsets.commit.timeout.ms", INT, 5 * SECOND_MS,
            "How long a commit may wait for its replicas.", validator=at_least(1), importance=Importance.HIGH),
    harmless="A commit waits for no other replica, as there is none, and is answered once it is in the log.",
)  # fmt: skip

OFFSET_METADATA_MAX_BYTES = setting(
    "offset.metadata.max.bytes",
    INT,
    4 * KIB,
    "The longest metadata text that may come with a committed offset.",
    importance=Importance.HIGH,
)
