"""Transactions and producers.

The transaction coordinator, its log, and idempotent producers.
"""

from tidelog.config import unserved
from tidelog.config.kinds import BOOLEAN, INT, SHORT
from tidelog.config.setting import Importance, Scope, setting
from tidelog.config.table import table
from tidelog.config.units import DAY_MS, HOUR_MS, MIB, MINUTE_MS, SECOND_MS
from tidelog.config.validators import at_least

TRANSACTION_MAX_TIMEOUT_MS = setting(
    "transaction.max.timeout.ms",
    INT,
    15 * MINUTE_MS,
    "The longest transaction timeout that a producer may ask for.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

TRANSACTIONAL_ID_EXPIRATION_MS = setting(
    "transactional.id.expiration.ms",
    INT,
    7 * DAY_MS,
    "A transactional id that has not been used for this long is forgotten.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

TRANSACTION_STATE_LOG_NUM_PARTITIONS = setting(
    "transaction.state.log.num.partitions",
    INT,
    50,
    "Partitions of `__transaction_state`. Must not change once the topic exists: it decides "
    "which broker coordinates a transactional id.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

TRANSACTION_STATE_LOG_REPLICATION_FACTOR = setting(
    "transaction.state.log.replication.factor",
    SHORT,
    3,
    "Replicas of `__transaction_state`.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

TRANSACTION_STATE_LOG_MIN_ISR = setting(
    "transaction.state.log.min.isr",
    INT,
    2,
    "`min.insync.replicas` of `__transaction_state`.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

TRANSACTION_STATE_LOG_SEGMENT_BYTES = setting(
    "transaction.state.log.segment.bytes",
    INT,
    100 * MIB,
    "The segment size of `__transaction_state`.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

LOADING = table(
    setting("transaction.state.log.load.buffer.size", INT, 5 * MIB,
            "The bytes read at a time while a coordinator loads its partition.",
            validator=at_least(1), importance=Importance.HIGH),
    harmless=unserved.OF_A_BUFFER,
)  # fmt: skip

TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = setting(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    INT,
    10 * SECOND_MS,
    "How often to look for transactions that have timed out, and abort them.",
    validator=at_least(1),
    importance=Importance.LOW,
)

TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = setting(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    INT,
    HOUR_MS,
    "How often to look for transactional ids to forget.",
    validator=at_least(1),
    importance=Importance.LOW,
)

TRANSACTION_PARTITION_VERIFICATION_ENABLE = setting(
    "transaction.partition.verification.enable",
    BOOLEAN,
    True,
    "Check with the coordinator that a transactional write belongs to an open transaction, "
    "so that none is left hanging.",
    importance=Importance.LOW,
    scope=Scope.CLUSTER_WIDE,
)

TRANSACTION_TWO_PHASE_COMMIT_ENABLE = setting(
    "transaction.two.phase.commit.enable",
    BOOLEAN,
    False,
    "Let producers take part in a two-phase commit led from outside: such transactions never time out.",
    importance=Importance.LOW,
)

ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS = setting(
    "add.partitions.to.txn.retry.backoff.ms",
    INT,
    20,
    "The pause before a partition is added again to a transaction whose predecessor is still completing, at first.",
    validator=at_least(1),
    importance=Importance.HIGH,
)

ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS = setting(
    "add.partitions.to.txn.retry.backoff.max.ms",
    INT,
    100,
    "The longest time for which that is tried.",
    validator=at_least(0),
    importance=Importance.HIGH,
)

PRODUCER_ID_EXPIRATION_MS = setting(
    "producer.id.expiration.ms",
    INT,
    DAY_MS,
    "A partition forgets a producer that has not written to it for this long, and with it "
    "what it has to tell a duplicate by.",
    validator=at_least(1),
    importance=Importance.LOW,
    scope=Scope.CLUSTER_WIDE,
)

PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = setting(
    "producer.id.expiration.check.interval.ms",
    INT,
    10 * MINUTE_MS,
    "How often to look for producers to forget.",
    validator=at_least(1),
    importance=Importance.LOW,
    internal=True,
)
