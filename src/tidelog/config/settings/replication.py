"""Replication.

Leaders, followers and who counts as in sync.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import BOOLEAN, INT, LONG, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import KIB, MIB, MINUTE_MS, SECOND_MS
from tidelog.config.validators import at_least

MIN_INSYNC_REPLICAS = setting(
    "min.insync.replicas",
    INT,
    1,
    "Replicas that must hold a record before acks=all is answered. With fewer in sync, such writes are refused.",
    validator=at_least(1),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

UNCLEAN_LEADER_ELECTION_ENABLE = setting(
    "unclean.leader.election.enable",
    BOOLEAN,
    False,
    "Let a replica that is not in sync become leader when no other is left. Loses acknowledged records.",
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

LEADER_ELECTION = table(
    setting("unclean.leader.election.interval.ms", LONG, 5 * MINUTE_MS,
            "How often the controller looks for partitions that need such an election.",
            validator=at_least(1), internal=True),
    setting("auto.leader.rebalance.enable", BOOLEAN, True,
            "Give leadership back to the preferred replica when it is in sync again.", importance=Importance.HIGH),
    setting("leader.imbalance.check.interval.seconds", LONG, 300,
            "How often to look for leaders that are not the preferred replica.",
            validator=at_least(1), importance=Importance.HIGH),
    harmless=unserved.OF_REPLICATION,
)  # fmt: skip

REPLICA_LAG_TIME_MAX_MS = setting(
    "replica.lag.time.max.ms",
    LONG,
    30 * SECOND_MS,
    "A follower that has not caught up with the leader for this long leaves the ISR.",
    importance=Importance.HIGH,
    harmless=unserved.OF_REPLICATION,
)

FETCH_SIZES = table(
    setting("replica.fetch.max.bytes", INT, MIB,
            "The bytes of one partition that a follower asks for in one Fetch. A larger batch is still sent whole.",
            validator=at_least(0)),
    setting("replica.fetch.response.max.bytes", INT, 10 * MIB,
            "The bytes of all partitions that a follower asks for in one Fetch.", validator=at_least(0)),
    setting("replica.fetch.min.bytes", INT, 1,
            "The bytes for which a leader lets a follower's Fetch wait.", importance=Importance.HIGH),
    harmless=unserved.OF_REPLICATION,
)  # fmt: skip

REPLICA_FETCH_WAIT_MAX_MS = setting(
    "replica.fetch.wait.max.ms",
    INT,
    500,
    "The longest that a leader lets a follower's Fetch wait. At most "
    "`replica.lag.time.max.ms`, or quiet partitions would leave the ISR.",
    importance=Importance.HIGH,
    harmless=unserved.OF_REPLICATION,
)

FETCH_BACKOFF = table(
    setting("replica.fetch.backoff.ms", INT, SECOND_MS,
            "The pause after a failed Fetch of a partition.", validator=at_least(0)),
    harmless=unserved.OF_REPLICATION,
)  # fmt: skip

REPLICA_SOCKET_TIMEOUT_MS = setting(
    "replica.socket.timeout.ms",
    INT,
    30 * SECOND_MS,
    "How long a follower's Fetch may take in all. At least `replica.fetch.wait.max.ms`.",
    importance=Importance.HIGH,
    harmless=unserved.OF_REPLICATION,
)

FOLLOWERS = table(
    setting("replica.socket.receive.buffer.bytes", INT, 64 * KIB,
            "The receive buffer of a follower's connection. -1: what the operating system chooses.",
            importance=Importance.HIGH, harmless=unserved.OF_REPLICATION),
    setting("replica.high.watermark.checkpoint.interval.ms", LONG, 5 * SECOND_MS,
            "How often the high watermark of every partition is written down.",
            importance=Importance.HIGH,
            harmless="A single replica's high watermark is the end of its log, which needs no checkpoint to be found."),
    optional("replica.selector.class", STRING,
             "Which replica a consumer is told to fetch from: by default the leader; "
             "`org.apache.kafka.common.replica.RackAwareReplicaSelector` picks one in the consumer's rack.",
             validator=forms.REPLICA_SELECTOR, harmless=unserved.OF_REPLICATION),
    setting("num.replica.fetchers", INT, 1,
            "Fetchers to each other broker.",
            validator=at_least(1), importance=Importance.HIGH, scope=Scope.CLUSTER_WIDE,
            harmless=unserved.OF_REPLICATION),
    optional("num.replica.alter.log.dirs.threads", INT,
             "Threads that move partitions between log directories.",
             importance=Importance.HIGH, harmless=unserved.OF_THREADS),
)  # fmt: skip
