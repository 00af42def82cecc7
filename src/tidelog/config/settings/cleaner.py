"""Log cleaner.

Compaction: keeping the latest record of each key.
"""

import sys

from tidelog.config.kinds import BOOLEAN, DOUBLE, INT, LONG
from tidelog.config.setting import Scope, setting
from tidelog.config.units import DAY_MS, KIB, LONG_MAX, MIB, SECOND_MS
from tidelog.config.validators import at_least, between

LOG_CLEANER_ENABLE = setting(
    "log.cleaner.enable",
    BOOLEAN,
    True,
    "Run the cleaner. Without it, compacted topics (the offsets topic among them) grow for ever.",
)

LOG_CLEANER_THREADS = setting(
    "log.cleaner.threads",
    INT,
    1,
    "How many partitions are compacted at the same time.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
    differs=(
        "Each is a housekeeping process beside the node, not a thread in it, so that compaction never delays a request."
    ),
)

LOG_CLEANER_IO_MAX_BYTES_PER_SECOND = setting(
    "log.cleaner.io.max.bytes.per.second",
    DOUBLE,
    sys.float_info.max,
    "The most bytes a second that the cleaner reads and writes, in all.",
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_DEDUPE_BUFFER_SIZE = setting(
    "log.cleaner.dedupe.buffer.size",
    LONG,
    128 * MIB,
    "The memory for the table of keys, shared by all cleaners. More than 1 MiB for each is needed.",
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_IO_BUFFER_SIZE = setting(
    "log.cleaner.io.buffer.size",
    INT,
    512 * KIB,
    "The memory for reading and writing, shared by all cleaners.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = setting(
    "log.cleaner.io.buffer.load.factor",
    DOUBLE,
    0.9,
    "How full the table of keys may get before a pass ends. Fuller means fewer passes and more collisions.",
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_BACKOFF_MS = setting(
    "log.cleaner.backoff.ms",
    LONG,
    15 * SECOND_MS,
    "How long a cleaner rests when there is nothing to compact.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_MIN_CLEANABLE_RATIO = setting(
    "log.cleaner.min.cleanable.ratio",
    DOUBLE,
    0.5,
    "Compact a partition when this share of its bytes has not been compacted yet.",
    validator=between(0, 1),
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_DELETE_RETENTION_MS = setting(
    "log.cleaner.delete.retention.ms",
    LONG,
    DAY_MS,
    "How long a tombstone (and a transaction marker) stays after it could go, so that a "
    "reader who started earlier still sees it.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_MIN_COMPACTION_LAG_MS = setting(
    "log.cleaner.min.compaction.lag.ms",
    LONG,
    0,
    "A record younger than this is not compacted away.",
    validator=at_least(0),
    scope=Scope.CLUSTER_WIDE,
)

LOG_CLEANER_MAX_COMPACTION_LAG_MS = setting(
    "log.cleaner.max.compaction.lag.ms",
    LONG,
    LONG_MAX,
    "A record older than this is due for compaction, whatever the ratio.",
    validator=at_least(1),
    scope=Scope.CLUSTER_WIDE,
)
