"""Every `kafka.*` option that we know, and what becomes of it: honoured, accepted without effect, or refused.

The names are those of Kafka's Java clients, because that is what jobs say that use Spark's own connector. Nothing is
ignored in silence: a name is accepted without effect only where our client does by itself what the setting is for, or
where it tunes a part of the Java client that has no counterpart here. Whatever would change the result is refused.
"""

from typing import Final, NamedTuple

from pyspark_tidelog.declared import Declared, by_name
from tidelog.client.security.settings import SETTINGS as SECURITY_SETTINGS
from tidelog.client.security.stores import converted_by

PREFIX: Final = "kafka."

_TRANSACTION_TIMEOUT = """\
how long a transaction of the exactly-once sink may stay open, from the first row of a task to the commit of the \
batch. More than the Java client's minute, because one that times out in between fails the query; what a broker allows \
(`transaction.max.timeout.ms`) is 15 minutes unless set otherwise"""

# The names are declared with the prefix, as users write them.
HONOURED: Final = by_name(
    Declared(PREFIX + name, default, doc, scope)
    for name, default, scope, doc in (
        ("bootstrap.servers", "", "both", "`host:port` of some brokers, with commas between. Must be given"),
        ("client.id", "tidelog-spark", "both", "what the brokers call us in their logs, metrics and quotas"),
        ("client.rack", "", "read", "where the executors are: partitions are read from a replica in the same rack"),
        ("request.timeout.ms", "30000", "both", "how long one request may wait for its response"),
        ("default.api.timeout.ms", "60000", "both", "how long what can be tried again is tried again"),
        ("max.block.ms", "", "both", "the producer's name for `kafka.default.api.timeout.ms`, which wins over it"),
        (
            "isolation.level",
            "read_uncommitted",
            "read",
            "`read_committed`: aborted and unfinished transactions are left out",
        ),
        ("fetch.max.bytes", "52428800", "read", "about the size of a whole fetch response"),
        (
            "max.partition.fetch.bytes",
            "2097152",
            "read",
            "about the size of a fetch response for one partition. Twice the Java client's: a task reads in bulk",
        ),
        ("fetch.max.wait.ms", "500", "read", "how long a broker waits for `kafka.fetch.min.bytes`"),
        ("fetch.min.bytes", "1", "read", "a broker answers when it has so much"),
        ("check.crcs", "true", "read", "check the CRC of every record batch"),
        ("acks", "all", "write", "`all` in-sync replicas, `1` (the leader) or `0` (nobody): who must have the records"),
        ("enable.idempotence", "true", "write", "no duplicates from retries; needs `kafka.acks` all"),
        ("compression.type", "none", "write", "`none`, `gzip`, `snappy`, `lz4` or `zstd`"),
        ("compression.gzip.level", "-1", "write", "1 to 9, or -1 for gzip's own default"),
        ("compression.lz4.level", "9", "write", "1 to 17"),
        ("compression.zstd.level", "3", "write", "-131072 to 22"),
        ("linger.ms", "5", "write", "how old a batch may become before it is sent"),
        (
            "batch.size",
            "524288",
            "write",
            "a batch is sent when it has so many bytes (the Java client's: 16384). One too large for a topic is split",
        ),
        (
            "buffer.memory",
            "33554432",
            "write",
            "bytes of a task that are not acknowledged yet; it waits when there are more",
        ),
        ("delivery.timeout.ms", "120000", "write", "what is not written within this time fails the task"),
        ("transaction.timeout.ms", "900000", "write", _TRANSACTION_TIMEOUT),
        *((name, default, "both", doc) for name, default, doc in SECURITY_SETTINGS),
    )
)


class Accepted(NamedTuple):
    reason: str
    values: tuple[str, ...] = ()  # the only values that are accepted; (): any
    impossible: tuple[str, ...] = ()  # values that are refused


_GROUP = "no consumer group is joined: Spark decides who reads what"
_TUNING = "tunes the Java client's sockets"
_BACKOFF = "the client backs off by itself, up to a second, and gives up after `kafka.default.api.timeout.ms`"
_METRICS = "a metric of the Java client; see `StreamingQueryProgress` for ours"
_STALE = "metadata are asked for at every batch, and when a broker says that they are stale"
_PARTITIONER = "of the Java producer's choice for records without a key; ours stays with a partition for a batch"

NO_EFFECT: Final[dict[str, Accepted]] = {
    PREFIX + name: accepted
    for name, accepted in {
        "client.dns.lookup": Accepted("every address of a host is tried", ("use_all_dns_ips",)),
        "exclude.internal.topics": Accepted("a pattern never matches internal topics", ("true",)),
        "allow.auto.create.topics": Accepted("reading never creates a topic"),
        "max.poll.records": Accepted("fetched records become Arrow batches, whatever their number"),
        "max.poll.interval.ms": Accepted(_GROUP),
        "session.timeout.ms": Accepted(_GROUP),
        "heartbeat.interval.ms": Accepted(_GROUP),
        "partition.assignment.strategy": Accepted(_GROUP),
        "group.protocol": Accepted(_GROUP),
        "group.remote.assignor": Accepted(_GROUP),
        "group.instance.id": Accepted(_GROUP),
        "group.id": Accepted("no query joins a group; `commitOffsetsToGroup` names one that shows its lag"),
        "auto.commit.interval.ms": Accepted("nothing is committed by timer; see `commitOffsetsToGroup`"),
        "receive.buffer.bytes": Accepted(_TUNING),
        "send.buffer.bytes": Accepted(_TUNING),
        "connections.max.idle.ms": Accepted(_TUNING),
        "socket.connection.setup.timeout.ms": Accepted(_TUNING),
        "socket.connection.setup.timeout.max.ms": Accepted(_TUNING),
        "reconnect.backoff.ms": Accepted(_BACKOFF),
        "reconnect.backoff.max.ms": Accepted(_BACKOFF),
        "retry.backoff.ms": Accepted(_BACKOFF),
        "retry.backoff.max.ms": Accepted(_BACKOFF),
        "metadata.max.age.ms": Accepted(_STALE),
        "metadata.max.idle.ms": Accepted(_STALE),
        "metadata.recovery.strategy": Accepted("when no broker answers, the bootstrap addresses are tried again"),
        "metadata.recovery.rebootstrap.trigger.ms": Accepted("see `kafka.metadata.recovery.strategy`"),
        "metrics.num.samples": Accepted(_METRICS),
        "metrics.recording.level": Accepted(_METRICS),
        "metrics.sample.window.ms": Accepted(_METRICS),
        "enable.metrics.push": Accepted(_METRICS),
        "auto.include.jmx.reporter": Accepted(_METRICS),
        "retries": Accepted(
            "a row is tried again until `kafka.delivery.timeout.ms`, however often that is", (), ("0",)
        ),
        "max.request.size": Accepted("the broker's `max.message.bytes` decides how large a batch may be"),
        "max.in.flight.requests.per.connection": Accepted("records keep their order however many are in flight"),
        "partitioner.ignore.keys": Accepted("records with a key go where Java's producer puts them", ("false",)),
        "partitioner.adaptive.partitioning.enable": Accepted(_PARTITIONER),
        "partitioner.availability.timeout.ms": Accepted(_PARTITIONER),
    }.items()
}

_PEM = "only stores of Java's have a password, and only PEM is read; {}"
_SECURITY = "TLS here is OpenSSL's, with PEM files, and SASL is PLAIN and SCRAM; what else Java can do is not there"
_JAVA = "names Java classes, and there is no JVM here that would load them"
_BYTES = "keys and values are bytes: {} them with DataFrame functions"

REFUSED: Final[dict[str, str]] = {
    PREFIX + name: reason
    for name, reason in {
        "auto.offset.reset": "startingOffsets says where a query begins; where it goes on, its checkpoint does",
        "enable.auto.commit": "a query's position is in its checkpoint; commitOffsetsToGroup shows it in a group too",
        "interceptor.classes": _JAVA,
        "metric.reporters": _JAVA,
        "partitioner.class": _JAVA + "; a column `partition` puts each row where it says",
        "config.providers": _JAVA,
        "security.providers": _JAVA,
        "ssl.truststore.password": _PEM.format(converted_by("STORE", is_key=False)),
        "ssl.keystore.password": _PEM.format(converted_by("STORE", is_key=True)),
        "key.deserializer": _BYTES.format("decode"),
        "value.deserializer": _BYTES.format("decode"),
        "key.serializer": _BYTES.format("encode"),
        "value.serializer": _BYTES.format("encode"),
        "transactional.id": "the exactly-once sink has one for each task, and makes them itself",
        "transaction.two.phase.commit.enable": "the exactly-once sink decides that itself",
    }.items()
}

# Every option whose name begins so is refused, for this reason.
REFUSED_FAMILIES: Final = {
    PREFIX + "sasl.kerberos.": "GSSAPI (Kerberos) is not supported; PLAIN and SCRAM are",
    PREFIX + "sasl.oauthbearer.": "OAUTHBEARER is not supported; PLAIN and SCRAM are",
    PREFIX + "ssl.": _SECURITY,
    PREFIX + "sasl.": _SECURITY,
    PREFIX + "config.providers.": _JAVA,
}
