"""Tiered storage.

Old segments copied to a remote store, and read back from it.
"""

from tidelog.config import unserved
from tidelog.config.kinds import BOOLEAN, DOUBLE, INT, LONG, STRING
from tidelog.config.setting import Importance, Scope, optional, setting
from tidelog.config.table import table
from tidelog.config.units import GIB, LONG_MAX, MINUTE_MS, SECOND_MS
from tidelog.config.validators import NON_EMPTY, at_least, between, one_of

STORE = table(
    setting("remote.log.storage.system.enable", BOOLEAN, False,
            "Turn tiered storage on for this cluster. A topic then asks for it with `remote.storage.enable`."),
    optional("remote.log.storage.manager.class.name", STRING, "The remote store.", validator=NON_EMPTY),
    refused=unserved.NO_TIERED_STORAGE,
)  # fmt: skip

STORE_CLASS_PATH = table(
    optional("remote.log.storage.manager.class.path", STRING, "Where the remote store's Java classes lie."),
    harmless=unserved.OF_TIERED_STORAGE,
)

REMOTE_LOG_STORAGE_MANAGER_IMPL_PREFIX = setting(
    "remote.log.storage.manager.impl.prefix",
    STRING,
    "rsm.config.",
    "Settings that start with this are handed to the remote store, without the prefix.",
    validator=NON_EMPTY,
    harmless=unserved.OF_TIERED_STORAGE,
)

STORE_METADATA = table(
    setting("remote.log.metadata.manager.class.name", STRING,
            "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
            "Where the list of remote segments is kept.",
            validator=one_of("org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager")),
    optional("remote.log.metadata.manager.class.path", STRING, "Where its Java classes lie."),
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip

REMOTE_LOG_METADATA_MANAGER_IMPL_PREFIX = setting(
    "remote.log.metadata.manager.impl.prefix",
    STRING,
    "rlmm.config.",
    "Settings that start with this are handed to it, without the prefix.",
    validator=NON_EMPTY,
    harmless=unserved.OF_TIERED_STORAGE,
)

INDEX_CACHE = table(
    optional("remote.log.metadata.manager.listener.name", STRING,
             "The listener by which it reaches the internal topic.", validator=NON_EMPTY),
    setting("remote.log.metadata.custom.metadata.max.bytes", INT, 128,
            "The most bytes of its own that the store may attach to a segment. A larger answer fails the copy.",
            validator=at_least(0), importance=Importance.LOW),
    setting("remote.log.index.file.cache.total.size.bytes", LONG, GIB,
            "Disk space for the cached indexes of remote segments.",
            validator=at_least(1), importance=Importance.LOW, scope=Scope.CLUSTER_WIDE),
    setting("remote.log.index.file.cache.ttl.ms", LONG, 15 * MINUTE_MS,
            "A cached index that nobody has used for this long is dropped. -1: never.",
            validator=at_least(-1), importance=Importance.LOW, internal=True),
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip

TASKS = table(
    setting("remote.log.manager.task.interval.ms", LONG, 30 * SECOND_MS,
            "How often every partition looks for segments to copy or to expire.", validator=at_least(1)),
    setting("remote.log.manager.task.retry.backoff.ms", LONG, 500,
            "The pause after a failed copy, at first.", validator=at_least(1), internal=True),
    setting("remote.log.manager.task.retry.backoff.max.ms", LONG, 30 * SECOND_MS,
            "The pause after failed copies grows up to this.", validator=at_least(1), internal=True),
    setting("remote.log.manager.task.retry.jitter", DOUBLE, 0.2,
            "The random share by which that pause varies.", validator=between(0, 0.5), internal=True),
    importance=Importance.LOW,
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip

POOLS = table(
    setting("remote.log.manager.copier.thread.pool.size", INT, 10,
            "How many segments are copied at the same time.", scope=Scope.CLUSTER_WIDE),
    setting("remote.log.manager.expiration.thread.pool.size", INT, 10,
            "How many partitions expire remote segments at the same time.", scope=Scope.CLUSTER_WIDE),
    setting("remote.log.manager.follower.thread.pool.size", INT, 2,
            "How many followers read remote metadata at the same time.", scope=Scope.CLUSTER_WIDE),
    setting("remote.log.manager.thread.pool.size", INT, 2, "The older, common size of those pools."),
    setting("remote.log.reader.threads", INT, 10,
            "How many remote reads are served at the same time.", scope=Scope.CLUSTER_WIDE),
    setting("remote.log.reader.max.pending.tasks", INT, 100, "Remote reads that may wait; more are refused."),
    validator=at_least(1),
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip

RATES = table(
    setting("remote.log.manager.copy.max.bytes.per.second", LONG, LONG_MAX,
            "The most bytes a second copied to the store.", scope=Scope.CLUSTER_WIDE),
    setting("remote.log.manager.copy.quota.window.num", INT, 11, "Samples kept for that rate."),
    setting("remote.log.manager.copy.quota.window.size.seconds", INT, 1, "The length of each sample."),
    setting("remote.log.manager.fetch.max.bytes.per.second", LONG, LONG_MAX,
            "The most bytes a second read from the store.", scope=Scope.CLUSTER_WIDE),
    setting("remote.log.manager.fetch.quota.window.num", INT, 11, "Samples kept for that rate."),
    setting("remote.log.manager.fetch.quota.window.size.seconds", INT, 1, "The length of each sample."),
    validator=at_least(1),
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip

WAITING = table(
    setting("remote.fetch.max.wait.ms", INT, 500,
            "How long a Fetch waits for the remote store before it answers without.", validator=at_least(1)),
    setting("remote.list.offsets.request.timeout.ms", LONG, 30 * SECOND_MS,
            "How long a ListOffsets waits for the remote store.", validator=at_least(1)),
    scope=Scope.CLUSTER_WIDE,
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip

LOG_LOCAL_RETENTION_MS = setting(
    "log.local.retention.ms",
    LONG,
    -2,
    "How long segments stay on local disk once they are in the store. -2: as long as `log.retention.ms` says.",
    validator=at_least(-2),
    scope=Scope.CLUSTER_WIDE,
    harmless=unserved.OF_TIERED_STORAGE,
)

LOG_LOCAL_RETENTION_BYTES = setting(
    "log.local.retention.bytes",
    LONG,
    -2,
    "How many bytes of a partition stay on local disk once they are in the store. -2: as "
    "many as `log.retention.bytes` says.",
    validator=at_least(-2),
    scope=Scope.CLUSTER_WIDE,
    harmless=unserved.OF_TIERED_STORAGE,
)

FOLLOWERS = table(
    setting("follower.fetch.last.tiered.offset.enable", BOOLEAN, False,
            "A new follower starts behind what is already in the store, instead of copying it from the leader.",
            scope=Scope.CLUSTER_WIDE),
    harmless=unserved.OF_TIERED_STORAGE,
)  # fmt: skip
