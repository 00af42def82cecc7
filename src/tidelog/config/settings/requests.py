"""Requests and fetch sessions.

Limits of single requests, and of what waits in a purgatory.
"""

from tidelog.config.kinds import INT, STRING
from tidelog.config.setting import Importance, Scope, setting
from tidelog.config.table import table
from tidelog.config.units import KIB, MIB
from tidelog.config.validators import at_least, between, either, one_of

MESSAGE_MAX_BYTES = setting(
    "message.max.bytes",
    INT,
    MIB + 12,
    "The largest record batch (after compression) that a topic accepts, unless the topic says otherwise.",
    validator=at_least(0),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

FETCH_MAX_BYTES = setting(
    "fetch.max.bytes",
    INT,
    55 * MIB,
    "The most bytes that one Fetch response carries, whatever the client asks for. The "
    "first batch is always sent whole.",
    validator=at_least(KIB),
)

MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS = setting(
    "max.incremental.fetch.session.cache.slots",
    INT,
    1000,
    "Incremental fetch sessions kept in memory.",
    validator=at_least(0),
)

MAX_REQUEST_PARTITION_SIZE_LIMIT = setting(
    "max.request.partition.size.limit",
    INT,
    2000,
    "The most partitions that one request may ask about, in the APIs that page.",
    validator=at_least(1),
)

PURGATORIES = table(
    setting("fetch.purgatory.purge.interval.requests", INT, 1000,
            "Sweep completed fetches from the purgatory after this many."),
    setting("producer.purgatory.purge.interval.requests", INT, 1000,
            "Sweep completed produce requests from the purgatory after this many."),
    setting("delete.records.purgatory.purge.interval.requests", INT, 1,
            "Sweep completed DeleteRecords requests from the purgatory after this many."),
    setting("share.fetch.purgatory.purge.interval.requests", INT, 1000,
            "Sweep completed share fetches from the purgatory after this many."),
    harmless="A completed request leaves its purgatory at once, so there is nothing to sweep.",
)  # fmt: skip

COMPRESSION_TYPE = setting(
    "compression.type",
    STRING,
    "producer",
    "How batches are compressed in the log: a codec, `uncompressed`, or `producer` to keep what the producer chose.",
    validator=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)

COMPRESSION_GZIP_LEVEL = setting(
    "compression.gzip.level",
    INT,
    -1,
    "The gzip level when the broker compresses. -1: the library's default.",
    validator=either(between(1, 9), -1),
    scope=Scope.CLUSTER_WIDE,
)

COMPRESSION_LZ4_LEVEL = setting(
    "compression.lz4.level",
    INT,
    9,
    "The lz4 level when the broker compresses.",
    validator=between(1, 17),
    scope=Scope.CLUSTER_WIDE,
)

COMPRESSION_ZSTD_LEVEL = setting(
    "compression.zstd.level",
    INT,
    3,
    "The zstd level when the broker compresses.",
    validator=between(-131_072, 22),
    scope=Scope.CLUSTER_WIDE,
)
