"""Share groups.

Share groups (KIP-932), their coordinator and its state topic.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import INT, LIST, SHORT, STRING
from tidelog.config.setting import Importance, Scope, setting
from tidelog.config.table import table
from tidelog.config.units import HOUR_MS, KIB, MIB, MINUTE_MS, SECOND_MS
from tidelog.config.validators import at_least, between, one_of

ASSIGNORS = table(
    setting("group.share.assignors", LIST, ("simple",),
            "The assignor of share groups, exactly one.",
            validator=forms.SHARE_ASSIGNORS, differs="`simple` is the only one known; a Java class cannot be loaded."),
    harmless=unserved.OF_SHARE_GROUPS,
)  # fmt: skip

GROUP_SHARE_SESSION_TIMEOUT_MS = setting(
    "group.share.session.timeout.ms",
    INT,
    45 * SECOND_MS,
    "A share group member that has not been heard of for this long is removed.",
    validator=at_least(1),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MIN_SESSION_TIMEOUT_MS = setting(
    "group.share.min.session.timeout.ms",
    INT,
    45 * SECOND_MS,
    "The lowest session timeout that a group may be configured with.",
    validator=at_least(1),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_SESSION_TIMEOUT_MS = setting(
    "group.share.max.session.timeout.ms",
    INT,
    MINUTE_MS,
    "The highest session timeout that a group may be configured with.",
    validator=at_least(1),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_HEARTBEAT_INTERVAL_MS = setting(
    "group.share.heartbeat.interval.ms",
    INT,
    5 * SECOND_MS,
    "How often a share group member is told to send a heartbeat.",
    validator=at_least(1),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS = setting(
    "group.share.min.heartbeat.interval.ms",
    INT,
    5 * SECOND_MS,
    "The lowest heartbeat interval that a group may be configured with.",
    validator=at_least(1),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS = setting(
    "group.share.max.heartbeat.interval.ms",
    INT,
    15 * SECOND_MS,
    "The highest heartbeat interval that a group may be configured with.",
    validator=at_least(1),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_ASSIGNMENT_INTERVAL_MS = setting(
    "group.share.assignment.interval.ms",
    INT,
    SECOND_MS,
    "The least time between two assignments of one share group. 0: none.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS = setting(
    "group.share.min.assignment.interval.ms",
    INT,
    0,
    "The lowest assignment interval that a group may be configured with.",
    validator=at_least(0),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS = setting(
    "group.share.max.assignment.interval.ms",
    INT,
    15 * SECOND_MS,
    "The highest assignment interval that a group may be configured with.",
    validator=at_least(0),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_SIZE = setting(
    "group.share.max.size",
    INT,
    200,
    "Members of a share group.",
    validator=between(1, 1000),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_SHARE_SESSIONS = setting(
    "group.share.max.share.sessions",
    INT,
    2000,
    "Share sessions that a broker keeps. At least `group.share.max.size`.",
    validator=at_least(1),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_DELIVERY_COUNT_LIMIT = setting(
    "group.share.delivery.count.limit",
    INT,
    5,
    "A record that was handed out this often without being accepted is archived.",
    validator=between(2, 10),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT = setting(
    "group.share.min.delivery.count.limit",
    INT,
    2,
    "The lowest delivery limit that a group may be configured with.",
    validator=between(2, 5),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT = setting(
    "group.share.max.delivery.count.limit",
    INT,
    10,
    "The highest delivery limit that a group may be configured with.",
    validator=between(5, 25),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_RECORD_LOCK_DURATION_MS = setting(
    "group.share.record.lock.duration.ms",
    INT,
    30 * SECOND_MS,
    "How long a record handed to one consumer is kept from the others.",
    validator=between(SECOND_MS, HOUR_MS),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS = setting(
    "group.share.min.record.lock.duration.ms",
    INT,
    15 * SECOND_MS,
    "The shortest lock that a group may be configured with.",
    validator=between(SECOND_MS, 30 * SECOND_MS),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS = setting(
    "group.share.max.record.lock.duration.ms",
    INT,
    MINUTE_MS,
    "The longest lock that a group may be configured with.",
    validator=between(30 * SECOND_MS, HOUR_MS),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS = setting(
    "group.share.partition.max.record.locks",
    INT,
    2000,
    "Records of one partition that may be in flight at once.",
    validator=between(100, 10_000),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS = setting(
    "group.share.min.partition.max.record.locks",
    INT,
    100,
    "The lowest such limit that a group may be configured with.",
    validator=between(100, 2000),
    harmless=unserved.OF_SHARE_GROUPS,
)

GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS = setting(
    "group.share.max.partition.max.record.locks",
    INT,
    4000,
    "The highest such limit that a group may be configured with.",
    validator=between(2000, 10_000),
    harmless=unserved.OF_SHARE_GROUPS,
)

SHARE_STATE = table(
    setting("group.share.initialize.retry.interval.ms", INT, 30 * SECOND_MS,
            "The pause before the state of a new share partition is set up again after a failure.",
            validator=at_least(1), importance=Importance.LOW),
    setting("group.share.persister.class.name", STRING, "org.apache.kafka.server.share.persister.DefaultStatePersister",
            "Where share state is kept.",
            validator=one_of("org.apache.kafka.server.share.persister.DefaultStatePersister")),
    internal=True,
    harmless=unserved.OF_SHARE_GROUPS,
)  # fmt: skip

STATE_TOPIC = table(
    setting("share.coordinator.state.topic.num.partitions", INT, 50,
            "Partitions of `__share_group_state`. Must not change once the topic exists.",
            validator=at_least(1), importance=Importance.HIGH),
    setting("share.coordinator.state.topic.replication.factor", SHORT, 3,
            "Replicas of `__share_group_state`.", validator=at_least(1), importance=Importance.HIGH),
    setting("share.coordinator.state.topic.min.isr", SHORT, 2,
            "`min.insync.replicas` of `__share_group_state`.", validator=at_least(1), importance=Importance.HIGH),
    setting("share.coordinator.state.topic.segment.bytes", INT, 100 * MIB,
            "The segment size of `__share_group_state`.", validator=at_least(1), importance=Importance.HIGH),
    setting("share.coordinator.state.topic.compression.codec", INT, 0,
            "The codec in which share state is written: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
            validator=forms.CODEC_ID, importance=Importance.HIGH),
    setting("share.coordinator.state.topic.prune.interval.ms", INT, 5 * MINUTE_MS,
            "How often records that no share partition needs any more are deleted.",
            validator=at_least(1), importance=Importance.LOW, internal=True),
    harmless=unserved.OF_SHARE_GROUPS,
)  # fmt: skip

SHARE_COORDINATOR = table(
    setting("share.coordinator.snapshot.update.records.per.snapshot", INT, 500,
            "Update records between two snapshots of a share partition.", validator=between(0, 500)),
    setting("share.coordinator.cold.partition.snapshot.interval.ms", INT, 5 * MINUTE_MS,
            "How often a quiet share partition gets a snapshot.",
            validator=at_least(1), importance=Importance.LOW, internal=True),
    setting("share.coordinator.write.timeout.ms", INT, 5 * SECOND_MS,
            "How long a write of share state may wait for its replicas.",
            validator=at_least(1), importance=Importance.HIGH),
    setting("share.coordinator.load.buffer.size", INT, 5 * MIB,
            "The bytes read at a time while a share coordinator loads its partition.",
            validator=at_least(1), importance=Importance.HIGH),
    setting("share.coordinator.append.linger.ms", INT, -1,
            "How long the share coordinator gathers records before it writes them as one batch. -1: decided from the "
            "load.", validator=at_least(-1)),
    setting("share.coordinator.cached.buffer.max.bytes", INT, MIB + 12,
            "The largest write buffer that the share coordinator keeps for the next batch.",
            validator=at_least(512 * KIB), scope=Scope.CLUSTER_WIDE),
    setting("share.coordinator.threads", INT, 1, "Threads that run the share coordinator.", validator=at_least(1)),
    harmless=unserved.OF_SHARE_GROUPS,
)  # fmt: skip
