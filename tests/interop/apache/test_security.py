"""Our client with Apache Kafka over each security protocol: everything works as without security, and a wrong setting
is reported at once, by its name."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.apache.secured import PASSWORD, SESSION_MS, SecuredNode, jaas, secured_node

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.fetch.fetch_ahead import FetchAhead
from tidelog.client.fetch.fetcher import FetchOptions
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST
from tidelog.client.security.settings import security_of
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition

GIVE_UP_S = 20
LARGE = bytes(range(256)) * 800  # many TLS records


@pytest.fixture(scope="module")
def node(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    with secured_node(jars, tmp_path_factory.mktemp("secured")) as found:
        yield found


def client_of(node: SecuredNode, listener: str, mechanism: str = "", host: str = "localhost", **changes: str) -> Client:
    settings = node.settings(listener, mechanism, **changes)
    return Client(node.address(listener, host), request_timeout_ms=10_000, security=security_of(settings))


@pytest.mark.parametrize(
    ("listener", "mechanism"),
    [
        ("SSL", ""),
        ("MUTUAL", ""),
        ("SASL_SSL", "PLAIN"),
        ("SASL_SSL", "SCRAM-SHA-256"),
        ("SASL_SSL", "SCRAM-SHA-512"),
        ("SASL_PLAINTEXT", "PLAIN"),
        ("SASL_PLAINTEXT", "SCRAM-SHA-512"),
    ],
)
def test_admin_producer_and_consumer_work(node: SecuredNode, listener: str, mechanism: str) -> None:
    topic, values = f"of-{listener}-{mechanism}", [b"%d" % number for number in range(500)] + [LARGE]
    topic_partition = TopicPartition(topic, 0)
    with client_of(node, listener, mechanism) as client:
        Admin(client).create_topic(NewTopic(topic, 1))
        with Producer(client) as producer:
            for value in values:
                producer.send(topic, value)
        with Consumer(client) as consumer:
            consumer.assign({topic_partition: EARLIEST})
            assert [record.value for record in consumer.read_to_end()] == values
        assert topic in [each.name for each in Admin(client).list_topics()]
        assert fetched_to(client, topic_partition, len(values)) == len(values)


def fetched_to(client: Client, topic_partition: TopicPartition, end: int) -> int:
    """Fetch with `FetchAhead`, as the Spark source does; return the offset that it reached."""
    source = FetchAhead(client, topic_partition, 0, end, FetchOptions(partition_bytes=1 << 16))
    while source.next_chunk() is not None:
        pass
    source.close()
    return source.offset


def test_a_session_is_renewed_on_the_same_connection(node: SecuredNode) -> None:
    """The broker would close a connection whose session is not renewed in time, at the next request on it."""
    topic_partition, ended = TopicPartition("renewed", 0), time.monotonic() + 2.5 * SESSION_MS / 1000
    with client_of(node, "SASL_PLAINTEXT_SHORT", "PLAIN") as client:
        Admin(client).create_topic(NewTopic("renewed", 1))
        source = FetchAhead(client, topic_partition, 0, 1 << 40, FetchOptions(max_wait_ms=100))
        links = []
        with Producer(client) as producer:
            while time.monotonic() < ended:
                producer.send("renewed", b"x")
                producer.flush()
                assert source.next_chunk() is not None
                links.append(source._link)
                client.pause(100)
        connections = dict(client._connections)
        time.sleep(SESSION_MS / 1000)  # the session ends while the client is idle
        assert Admin(client).list_topics()
        assert client._connections == connections
        assert links[0] is not None
        assert set(links) == {links[0]}
        source.close()


WRONG = [
    ("SASL_SSL", "PLAIN", {"sasl_jaas_config": jaas("PLAIN", "nonsense")}, "SASL_AUTHENTICATION_FAILED", "sasl.jaas"),
    (
        "SASL_PLAINTEXT",
        "SCRAM-SHA-256",
        {"sasl_jaas_config": jaas("SCRAM-SHA-256", "nonsense")},
        "SASL_AUTHENTICATION_FAILED",
        "sasl.jaas.config",
    ),
    ("SASL_PLAINTEXT_SHORT", "SCRAM-SHA-512", {}, "it offers PLAIN", "sasl.mechanism"),
    ("SSL", "", {"ssl_truststore_location": "stranger.pem"}, "not to be trusted", "ssl.truststore.location"),
    ("SASL_SSL", "PLAIN", {"ssl_truststore_location": "stranger.pem"}, "not to be trusted", "ssl.truststore.location"),
    ("MUTUAL", "", {"ssl_keystore_location": ""}, "asks for a certificate", "ssl.keystore.location"),
    ("MUTUAL", "", {"ssl_keystore_location": "impostor.pem"}, "does not take our", "ssl.keystore.location"),
    ("SASL_PLAINTEXT", "", {"security_protocol": "PLAINTEXT"}, "closed", "security.protocol"),
    ("SSL", "", {"security_protocol": "PLAINTEXT"}, "", "security.protocol"),
    ("SSL", "PLAIN", {"security_protocol": "SASL_SSL"}, "no SASL", "security.protocol"),
    ("SASL_PLAINTEXT", "PLAIN", {"security_protocol": "SASL_SSL"}, "TLS", "security.protocol"),
]


@pytest.mark.parametrize(("listener", "mechanism", "changes", "what", "setting"), WRONG)
def test_what_does_not_fit_is_said_at_once(
    node: SecuredNode, listener: str, mechanism: str, changes: dict[str, str], what: str, setting: str
) -> None:
    settings = node.settings(listener, mechanism) | {name.replace("_", "."): text for name, text in changes.items()}
    for name in ("ssl.truststore.location", "ssl.keystore.location"):
        if settings.get(name, "").endswith(".pem"):
            settings[name] = str(node.directory / settings[name])
    if settings["security.protocol"] == "PLAINTEXT":
        settings = {"security.protocol": "PLAINTEXT"}
    began = time.monotonic()
    with Client(node.address(listener), security=security_of(settings)) as client, pytest.raises(ClientError) as told:
        Admin(client).list_topics()
    assert what in str(told.value)
    assert setting in str(told.value)
    assert PASSWORD not in str(told.value)
    assert time.monotonic() - began < GIVE_UP_S


def test_a_certificate_for_another_host(node: SecuredNode) -> None:
    with client_of(node, "SSL", host="127.0.0.1") as client, pytest.raises(ClientError) as told:
        Admin(client).list_topics()
    assert told.value.code is ErrorCode.INVALID_CONFIG
    assert "not for 127.0.0.1" in str(told.value)
    assert "ssl.endpoint.identification.algorithm" in str(told.value)
    with client_of(node, "SSL", host="127.0.0.1", ssl_endpoint_identification_algorithm="") as client:
        Admin(client).list_topics()
