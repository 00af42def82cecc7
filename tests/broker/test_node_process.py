"""The node that the tests of this directory use is a process that answers."""

from confluent_kafka.admin import AdminClient


def test_a_client_finds_the_node(bootstrap: str) -> None:
    metadata = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10)
    assert [f"{broker.host}:{broker.port}" for broker in metadata.brokers.values()] == [bootstrap]
