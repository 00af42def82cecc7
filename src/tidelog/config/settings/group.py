"""Groups.

Settings of one group. Each falls back to the broker setting named beside it, whose limits bound it.
"""

from tidelog.config import forms, unserved
from tidelog.config.kinds import BOOLEAN, INT, STRING
from tidelog.config.setting import Scope, Synonym, setting
from tidelog.config.settings import groups, share, streams
from tidelog.config.table import table
from tidelog.config.units import SECOND_MS
from tidelog.config.validators import at_least, one_of

CONSUMER_SESSION_TIMEOUT_MS = setting(
    "consumer.session.timeout.ms",
    INT,
    45 * SECOND_MS,
    "A member that has not been heard of for this long is removed.",
    validator=at_least(1),
    scope=Scope.GROUP,
    synonyms=(Synonym(groups.GROUP_CONSUMER_SESSION_TIMEOUT_MS),),
)

CONSUMER_HEARTBEAT_INTERVAL_MS = setting(
    "consumer.heartbeat.interval.ms",
    INT,
    5 * SECOND_MS,
    "How often a member is told to send a heartbeat.",
    validator=at_least(1),
    scope=Scope.GROUP,
    synonyms=(Synonym(groups.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS),),
)

CONSUMER_ASSIGNMENT_INTERVAL_MS = setting(
    "consumer.assignment.interval.ms",
    INT,
    SECOND_MS,
    "The least time between two assignments. 0: none.",
    validator=at_least(0),
    scope=Scope.GROUP,
    synonyms=(Synonym(groups.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS),),
)

SHARE_SESSION_TIMEOUT_MS = setting(
    "share.session.timeout.ms",
    INT,
    45 * SECOND_MS,
    "A member that has not been heard of for this long is removed.",
    validator=at_least(1),
    scope=Scope.GROUP,
    synonyms=(Synonym(share.GROUP_SHARE_SESSION_TIMEOUT_MS),),
    harmless=unserved.OF_SHARE_GROUPS,
)

SHARE_HEARTBEAT_INTERVAL_MS = setting(
    "share.heartbeat.interval.ms",
    INT,
    5 * SECOND_MS,
    "How often a member is told to send a heartbeat.",
    validator=at_least(1),
    scope=Scope.GROUP,
    synonyms=(Synonym(share.GROUP_SHARE_HEARTBEAT_INTERVAL_MS),),
    harmless=unserved.OF_SHARE_GROUPS,
)

SHARE_ASSIGNMENT_INTERVAL_MS = setting(
    "share.assignment.interval.ms",
    INT,
    SECOND_MS,
    "The least time between two assignments. 0: none.",
    validator=at_least(0),
    scope=Scope.GROUP,
    synonyms=(Synonym(share.GROUP_SHARE_ASSIGNMENT_INTERVAL_MS),),
    harmless=unserved.OF_SHARE_GROUPS,
)

SHARE_RECORD_LOCK_DURATION_MS = setting(
    "share.record.lock.duration.ms",
    INT,
    30 * SECOND_MS,
    "How long a record handed to one consumer is kept from the others.",
    validator=at_least(SECOND_MS),
    scope=Scope.GROUP,
    synonyms=(Synonym(share.GROUP_SHARE_RECORD_LOCK_DURATION_MS),),
    harmless=unserved.OF_SHARE_GROUPS,
)

SHARE_DELIVERY_COUNT_LIMIT = setting(
    "share.delivery.count.limit",
    INT,
    5,
    "A record that was handed out this often without being accepted is archived.",
    validator=at_least(2),
    scope=Scope.GROUP,
    synonyms=(Synonym(share.GROUP_SHARE_DELIVERY_COUNT_LIMIT),),
    harmless=unserved.OF_SHARE_GROUPS,
)

SHARE_PARTITION_MAX_RECORD_LOCKS = setting(
    "share.partition.max.record.locks",
    INT,
    2000,
    "Records of one partition that may be in flight at once.",
    validator=at_least(100),
    scope=Scope.GROUP,
    synonyms=(Synonym(share.GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS),),
    harmless=unserved.OF_SHARE_GROUPS,
)

SHARE_CONSUMERS = table(
    setting("share.auto.offset.reset", STRING, "latest",
            "Where the group starts in a partition: `earliest`, `latest`, or `by_duration:` and an ISO 8601 duration "
            "before now.", validator=forms.AUTO_OFFSET_RESET),
    setting("share.isolation.level", STRING, "read_uncommitted",
            "Whether the group sees records of transactions that were aborted or are still open (`read_uncommitted`) "
            "or not (`read_committed`).", validator=one_of("read_committed", "read_uncommitted")),
    setting("share.renew.acknowledge.enable", BOOLEAN, True, "Whether a consumer may renew its lock on a record."),
    scope=Scope.GROUP,
    harmless=unserved.OF_SHARE_GROUPS,
)  # fmt: skip

STREAMS_GROUPS = table(
    setting("streams.session.timeout.ms", INT, 45 * SECOND_MS,
            "A member that has not been heard of for this long is removed.",
            validator=at_least(1), synonyms=(Synonym(streams.GROUP_STREAMS_SESSION_TIMEOUT_MS),)),
    setting("streams.heartbeat.interval.ms", INT, 5 * SECOND_MS,
            "How often a member is told to send a heartbeat.",
            validator=at_least(1), synonyms=(Synonym(streams.GROUP_STREAMS_HEARTBEAT_INTERVAL_MS),)),
    setting("streams.assignment.interval.ms", INT, SECOND_MS,
            "The least time between two assignments.",
            validator=at_least(0), synonyms=(Synonym(streams.GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS),)),
    setting("streams.initial.rebalance.delay.ms", INT, 3 * SECOND_MS,
            "How long the group waits for more members before its first assignment.",
            validator=at_least(0), synonyms=(Synonym(streams.GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS),)),
    setting("streams.num.standby.replicas", INT, 0,
            "Standby copies of each task.",
            validator=at_least(0), synonyms=(Synonym(streams.GROUP_STREAMS_NUM_STANDBY_REPLICAS),)),
    scope=Scope.GROUP,
    harmless=unserved.OF_STREAMS_GROUPS,
)  # fmt: skip
