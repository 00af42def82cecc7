"""Streams groups.

The streams group protocol (KIP-1071) is not served. The settings are known, so that a file that carries them still
loads.
"""

from tidelog.config import unserved
from tidelog.config.kinds import INT
from tidelog.config.setting import Scope, setting
from tidelog.config.table import table
from tidelog.config.units import INT_MAX, MINUTE_MS, SECOND_MS
from tidelog.config.validators import at_least

GROUP_STREAMS_SESSION_TIMEOUT_MS = setting(
    "group.streams.session.timeout.ms",
    INT,
    45 * SECOND_MS,
    "A streams group member that has not been heard of for this long is removed.",
    validator=at_least(1),
    harmless=unserved.OF_STREAMS_GROUPS,
)

SESSION_LIMITS = table(
    setting("group.streams.min.session.timeout.ms", INT, 45 * SECOND_MS,
            "The lowest session timeout that a group may be configured with.", validator=at_least(1)),
    setting("group.streams.max.session.timeout.ms", INT, MINUTE_MS,
            "The highest session timeout that a group may be configured with.", validator=at_least(1)),
    harmless=unserved.OF_STREAMS_GROUPS,
)  # fmt: skip

GROUP_STREAMS_HEARTBEAT_INTERVAL_MS = setting(
    "group.streams.heartbeat.interval.ms",
    INT,
    5 * SECOND_MS,
    "How often a streams group member is told to send a heartbeat.",
    validator=at_least(1),
    harmless=unserved.OF_STREAMS_GROUPS,
)

HEARTBEAT_LIMITS = table(
    setting("group.streams.min.heartbeat.interval.ms", INT, 5 * SECOND_MS,
            "The lowest heartbeat interval that a group may be configured with.", validator=at_least(1)),
    setting("group.streams.max.heartbeat.interval.ms", INT, 15 * SECOND_MS,
            "The highest heartbeat interval that a group may be configured with.", validator=at_least(1)),
    harmless=unserved.OF_STREAMS_GROUPS,
)  # fmt: skip

GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS = setting(
    "group.streams.assignment.interval.ms",
    INT,
    SECOND_MS,
    "The least time between two assignments of one streams group.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
    harmless=unserved.OF_STREAMS_GROUPS,
)

ASSIGNMENT_LIMITS = table(
    setting("group.streams.min.assignment.interval.ms", INT, 0,
            "The lowest assignment interval that a group may be configured with.", validator=at_least(0)),
    setting("group.streams.max.assignment.interval.ms", INT, 15 * SECOND_MS,
            "The highest assignment interval that a group may be configured with.", validator=at_least(0)),
    harmless=unserved.OF_STREAMS_GROUPS,
)  # fmt: skip

GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS = setting(
    "group.streams.initial.rebalance.delay.ms",
    INT,
    3 * SECOND_MS,
    "How long a streams group waits for more members before its first assignment.",
    validator=at_least(0),
    harmless=unserved.OF_STREAMS_GROUPS,
)

SIZE_LIMIT = table(
    setting("group.streams.max.size", INT, INT_MAX, "Members of a streams group.", validator=at_least(1)),
    harmless=unserved.OF_STREAMS_GROUPS,
)

GROUP_STREAMS_NUM_STANDBY_REPLICAS = setting(
    "group.streams.num.standby.replicas",
    INT,
    0,
    "Standby copies of each task.",
    validator=at_least(0),
    harmless=unserved.OF_STREAMS_GROUPS,
)

STANDBY_LIMIT = table(
    setting("group.streams.max.standby.replicas", INT, 2,
            "The most standby copies that a group may be configured with.", validator=at_least(0)),
    harmless=unserved.OF_STREAMS_GROUPS,
)  # fmt: skip
