"""Quotas.

The windows over which rates are measured, and rates that are set on a running cluster.
"""

from tidelog.config import unserved
from tidelog.config.kinds import CLASS, INT, LONG
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import LONG_MAX
from tidelog.config.validators import at_least

QUOTA_WINDOWS = table(
    setting("quota.window.num", INT, 11, "Samples kept for client quotas."),
    setting("quota.window.size.seconds", INT, 1, "The length of each sample."),
    setting("controller.quota.window.num", INT, 11, "Samples kept for the quota of topic creations and deletions."),
    setting("controller.quota.window.size.seconds", INT, 1, "The length of each sample."),
    validator=at_least(1),
    importance=Importance.LOW,
    refused=unserved.NO_QUOTAS,
)

REPLICATION_WINDOWS = table(
    setting("replication.quota.window.num", INT, 11, "Samples kept for throttled replication.", validator=at_least(1)),
    setting("replication.quota.window.size.seconds", INT, 1, "The length of each sample.", validator=at_least(1)),
    importance=Importance.LOW,
    harmless=unserved.OF_REPLICATION,
)

MOVE_WINDOWS = table(
    setting("alter.log.dirs.replication.quota.window.num", INT, 11,
            "Samples kept for moves between log directories.", validator=at_least(1)),
    setting("alter.log.dirs.replication.quota.window.size.seconds", INT, 1,
            "The length of each sample.", validator=at_least(1)),
    importance=Importance.LOW,
    harmless="A move between directories is paced evenly, without windows.",
)  # fmt: skip

REPLICATION_RATES = table(
    setting("leader.replication.throttled.rate", LONG, LONG_MAX,
            "The most bytes a second that this broker sends for the replicas throttled on the leader's side.",
            validator=at_least(0)),
    setting("follower.replication.throttled.rate", LONG, LONG_MAX,
            "The most bytes a second that this broker fetches for the replicas throttled on the follower's side.",
            validator=at_least(0)),
    scope=Scope.CLUSTER_WIDE,
    dynamic_only=True,
    harmless=unserved.OF_REPLICATION,
)  # fmt: skip

REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND = setting(
    "replica.alter.log.dirs.io.max.bytes.per.second",
    LONG,
    LONG_MAX,
    "The most bytes a second for moves between this broker's log directories.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
    dynamic_only=True,
)

CALLBACK = table(
    optional("client.quota.callback.class", CLASS, "A Java class that decides quotas.", importance=Importance.LOW),
    refused=unserved.NO_QUOTAS,
)
