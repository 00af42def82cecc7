"""`kafka.*` options: each is honoured, known to have no effect, or refused by name; none is ignored."""

import pickle

import pytest

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.catalogue import HONOURED, NO_EFFECT, REFUSED
from pyspark_tidelog.kafka.settings import (
    ClusterOptions,
    FetchSettings,
    ProducerSettings,
    cluster_options,
    fetch_settings,
    producer_settings,
)
from tidelog.client.security.security import PLAINTEXT, SaslSettings, Security, TlsSettings
from tidelog.records.compression import CompressionType

BOOTSTRAP = {"kafka.bootstrap.servers": "one:9092,two:9093"}

# Of the Java consumer and producer, without those of TLS and SASL.
JAVA_NAMES = """
acks allow.auto.create.topics auto.commit.interval.ms auto.offset.reset batch.size bootstrap.servers buffer.memory
check.crcs client.dns.lookup client.id client.rack compression.gzip.level compression.lz4.level compression.type
compression.zstd.level config.providers connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms
enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics fetch.max.bytes fetch.max.wait.ms
fetch.min.bytes group.id group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
interceptor.classes isolation.level key.deserializer key.serializer linger.ms max.block.ms
max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size
metadata.max.age.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys
receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms
retry.backoff.ms security.protocol security.providers send.buffer.bytes session.timeout.ms
socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms transaction.timeout.ms
transaction.two.phase.commit.enable transactional.id value.deserializer value.serializer
"""


def test_every_name_of_javas_clients_is_decided_once() -> None:
    decided = [*HONOURED, *NO_EFFECT, *REFUSED]
    assert len(decided) == len(set(decided))
    assert {f"kafka.{name}" for name in JAVA_NAMES.split()} <= set(decided)


def test_the_defaults_are_kafkas_but_where_the_declaration_says_why() -> None:
    assert cluster_options(BOOTSTRAP) == ClusterOptions("one:9092,two:9093", "tidelog-spark", 30_000, 60_000, None)
    assert fetch_settings(BOOTSTRAP) == FetchSettings(50 << 20, 2 << 20, 500, 1, True, False) == FetchSettings()
    assert producer_settings(BOOTSTRAP) == ProducerSettings(
        acks=-1,
        idempotent=True,
        compression=CompressionType.NONE,
        compression_level=None,
        linger_ms=5,
        batch_bytes=512 << 10,
        buffer_bytes=32 << 20,
        delivery_timeout_ms=120_000,
        transaction_timeout_ms=900_000,
    )


def test_what_is_given_is_taken_whatever_the_case_of_its_name() -> None:
    given = {
        "Kafka.Bootstrap.Servers": " b:1 ",
        "kafka.CLIENT.id": "me",
        "kafka.request.timeout.ms": "1",
        "kafka.default.api.timeout.ms": "2",
        "kafka.client.rack": "r1",
        "kafka.fetch.max.bytes": "3",
        "kafka.max.partition.fetch.bytes": "4",
        "kafka.fetch.max.wait.ms": "0",
        "kafka.fetch.min.bytes": "6",
        "kafka.check.crcs": "False",
        "kafka.isolation.level": "READ_COMMITTED",
        "kafka.acks": "1",
        "kafka.compression.type": "ZSTD",
        "kafka.compression.zstd.level": "-7",
        "kafka.linger.ms": "8",
        "kafka.batch.size": "9",
        "kafka.buffer.memory": "10",
        "kafka.delivery.timeout.ms": "11",
        "kafka.transaction.timeout.ms": "12",
    }
    assert cluster_options(given) == ClusterOptions("b:1", "me", 1, 2, "r1")
    assert fetch_settings(given) == FetchSettings(3, 4, 0, 6, False, True)
    assert producer_settings(given) == ProducerSettings(1, False, CompressionType.ZSTD, -7, 8, 9, 10, 11, 12, True)


def test_the_producers_name_for_how_long_to_try() -> None:
    assert cluster_options(BOOTSTRAP | {"kafka.max.block.ms": "5"}).retry_timeout_ms == 5
    both = {"kafka.max.block.ms": "5", "kafka.default.api.timeout.ms": "6"}
    assert cluster_options(BOOTSTRAP | both).retry_timeout_ms == 6


def test_settings_travel_to_tasks_and_connect_there() -> None:
    cluster = pickle.loads(pickle.dumps(cluster_options(BOOTSTRAP | {"kafka.request.timeout.ms": "77"})))
    with cluster.connect() as client:
        assert client.name == "cluster at one:9092, two:9093"
        assert client.request_timeout_ms == 77
    assert pickle.loads(pickle.dumps(producer_settings(BOOTSTRAP))) == producer_settings(BOOTSTRAP)
    assert pickle.loads(pickle.dumps(fetch_settings(BOOTSTRAP))) == fetch_settings(BOOTSTRAP)


@pytest.mark.parametrize(
    "name", ["receive.buffer.bytes", "max.poll.records", "session.timeout.ms", "acks", "fetch.min.bytes", "retries"]
)
def test_harmless_names_are_accepted(name: str) -> None:
    cluster_options(BOOTSTRAP | {f"kafka.{name}": "1"})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("kafka.security.protocol", "TLS", "SASL_SSL"),
        ("kafka.sasl.jaas.config", "secret", "means nothing with security.protocol PLAINTEXT"),
        ("kafka.ssl.truststore.location", "/x", "means nothing with security.protocol PLAINTEXT"),
        ("kafka.ssl.truststore.password", "secret", "keytool -list -rfc"),
        ("kafka.ssl.cipher.suites", "x", "OpenSSL"),
        ("kafka.sasl.kerberos.service.name", "kafka", "GSSAPI"),
        ("kafka.sasl.oauthbearer.token.endpoint.url", "x", "OAUTHBEARER"),
        ("kafka.sasl.login.class", "x.Y", "PLAIN and SCRAM"),
        ("kafka.auto.offset.reset", "latest", "startingOffsets"),
        ("kafka.enable.auto.commit", "true", "commitOffsetsToGroup"),
        ("kafka.interceptor.classes", "x.Y", "JVM"),
        ("kafka.key.deserializer", "x.Y", "DataFrame"),
        ("kafka.value.deserializer", "x.Y", "DataFrame"),
        ("kafka.key.serializer", "x.Y", "DataFrame"),
        ("kafka.value.serializer", "x.Y", "DataFrame"),
        ("kafka.transactional.id", "t", "exactly-once"),
        ("kafka.partitioner.ignore.keys", "true", "cannot be done"),
        ("kafka.exclude.internal.topics", "false", "cannot be done"),
        ("kafka.client.dns.lookup", "resolve_canonical_bootstrap_servers_only", "cannot be done"),
        ("kafka.retries", "0", "cannot be done"),
        ("kafka.config.providers.file.class", "x", "JVM"),
        ("kafka.fetch.max.byte", "1", "did you mean kafka.fetch.max.bytes?"),
        ("kafka.zebra", "1", "not known"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(name: str, value: str, reason: str) -> None:
    with pytest.raises(OptionError) as caught:
        cluster_options(BOOTSTRAP | {name.upper(): value})
    assert str(caught.value).startswith(f"{name}: ")
    assert reason in str(caught.value)
    assert "secret" not in str(caught.value)


def test_plaintext_is_the_default() -> None:
    assert cluster_options(BOOTSTRAP).security == PLAINTEXT
    cluster_options(BOOTSTRAP | {"kafka.security.protocol": "PLAINTEXT", "kafka.client.dns.lookup": "use_all_dns_ips"})


def test_security_travels_to_tasks_and_is_not_shown() -> None:
    given = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "Kafka.SASL.jaas.config": 'x.ScramLoginModule required username="alice" password="secret";',
        "kafka.ssl.endpoint.identification.algorithm": "",
    }
    cluster = pickle.loads(pickle.dumps(cluster_options(BOOTSTRAP | given)))
    assert cluster.security == Security(
        TlsSettings(checks_host=False), SaslSettings("SCRAM-SHA-512", "alice", "secret")
    )
    assert "secret" not in repr(cluster)
    with cluster.connect() as client:
        assert client.access.protocol == "SASL_SSL"


def test_a_file_that_is_missing_where_a_task_runs() -> None:
    given = {"kafka.security.protocol": "SSL", "kafka.ssl.ca.location": "/none/at/all"}
    with pytest.raises(OptionError, match=r"^kafka.ssl.ca.location: /none/at/all: No such file.*executors"):
        cluster_options(BOOTSTRAP | given).connect()


@pytest.mark.parametrize("servers", [None, "", " ", ",", "host:port", "host:99999999"])
def test_a_bootstrap_address_is_needed(servers: str | None) -> None:
    with pytest.raises(OptionError, match=r"^kafka\.bootstrap\.servers: "):
        cluster_options({} if servers is None else {"kafka.bootstrap.servers": servers})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka.fetch.max.bytes", "0"),
        ("kafka.fetch.max.bytes", "2147483648"),
        ("kafka.max.partition.fetch.bytes", "1e6"),
        ("kafka.max.partition.fetch.bytes", "1_000"),
        ("kafka.fetch.max.wait.ms", "-1"),
        ("kafka.check.crcs", "yes"),
        ("kafka.isolation.level", "serializable"),
        ("kafka.acks", "2"),
        ("kafka.compression.type", "brotli"),
        ("kafka.compression.gzip.level", "0"),
        ("kafka.compression.gzip.level", "10"),
        ("kafka.compression.lz4.level", "0"),
        ("kafka.compression.zstd.level", "23"),
        ("kafka.compression.zstd.level", ""),
        ("kafka.linger.ms", "soon"),
        ("kafka.batch.size", "0"),
    ],
)
def test_a_wrong_value_names_the_option(name: str, value: str) -> None:
    read = fetch_settings if HONOURED[name].scope == "read" else producer_settings
    with pytest.raises(OptionError) as caught:
        read({name: value})
    assert str(caught.value).startswith(f"{name}: ")


def test_idempotence_needs_all_acks() -> None:
    assert producer_settings({"kafka.acks": "0"}).idempotent is False
    assert producer_settings({"kafka.enable.idempotence": "false"}).idempotent is False
    assert producer_settings({"kafka.enable.idempotence": "true", "kafka.acks": "-1"}).idempotent is True
    with pytest.raises(OptionError, match=r"^kafka\.enable\.idempotence: needs kafka\.acks all"):
        producer_settings({"kafka.enable.idempotence": "true", "kafka.acks": "1"})


def test_the_level_is_that_of_the_codec_in_use() -> None:
    levels = {"kafka.compression.gzip.level": "1", "kafka.compression.lz4.level": "17"}
    assert producer_settings({"kafka.compression.type": "gzip", **levels}).compression_level == 1
    assert producer_settings({"kafka.compression.type": "lz4", **levels}).compression_level == 17
    assert producer_settings({"kafka.compression.type": "zstd", **levels}).compression_level == 3
    assert producer_settings({"kafka.compression.type": "snappy", **levels}).compression_level is None
