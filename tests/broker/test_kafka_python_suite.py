"""kafka-python's own integration tests against our broker: what passes on Apache Kafka 4.3.1 passes here.

On Apache 4.3.1, with the settings below, 49 of them pass and none fails (16 are for other versions, for codecs whose
libraries are not installed, or start brokers of their own with SASL). Those for TLS start a broker from Apache's
distribution whatever they are told, so they are left out.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.kafka_python_suite import SuiteMissing, fetch_suite, run_suite, unpack
from tests.support.ports import held_ports

from tidelog.testing import Broker

PASS_ON_APACHE = 49

# The tests that we do not pass, and why.
EXCEPTIONS = {
    "test_admin_integration::test_create_describe_delete_acls": "there are no ACLs before there is authentication",
    "test_admin_integration::test_elect_leaders": "elections come with clusters of more than one broker",
    "test_admin_integration::test_alter_partition_reassignments": "so do reassignments",
    "test_admin_integration::test_list_partition_reassignments": "so do reassignments",
}
EXPECTED_SKIPS = ("Compression libraries not installed", "Testing on external Kafka Broker", "Requires KAFKA_VERSION <")


@pytest.fixture
def broker() -> Iterator[Broker]:
    """Run a node with the settings that kafka-python gives to Apache's: node 0, four partitions, a session timeout
    below Kafka's minimum, and advertised listeners that are set, because one of the tests looks for them."""
    (port,) = held_ports(1)
    settings: dict[str, str | int] = {
        "node.id": 0,
        "controller.quorum.voters": "0@localhost:9093",
        "num.partitions": 4,
        "group.min.session.timeout.ms": 1000,
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }
    broker = Broker(settings)
    broker.port = port
    with broker:
        yield broker


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    try:
        return unpack(fetch_suite(), tmp_path)
    except SuiteMissing as missing:
        pytest.skip(f"KAFKA-PYTHON'S OWN TESTS DID NOT RUN: {missing}")


def test_what_passes_on_apache_passes_here(suite: Path, broker: Broker) -> None:
    outcomes = run_suite(suite, broker.host, broker.port, EXCEPTIONS)
    assert outcomes.failed.keys() == EXCEPTIONS.keys(), outcomes.output[-5000:]
    assert all("does not support the" in reason for reason in outcomes.failed.values()), outcomes.failed
    assert len(outcomes.passed) >= PASS_ON_APACHE - len(EXCEPTIONS)
    assert all(reason.startswith(EXPECTED_SKIPS) for reason in outcomes.skipped.values()), outcomes.skipped
