"""The pytest plugin as a user gets it: through its entry point, in a pytest run of its own."""

import subprocess
import sys
from pathlib import Path

USERS_TESTS = """
import os, socket, pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

def listed(broker):
    return AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10).topics

@pytest.mark.parametrize("number", range(4))
def test_topics_are_this_tests_own(kafka_broker, kafka_topic, number):
    name = kafka_topic("orders", partitions=3, cleanup_policy="compact")
    assert len(listed(kafka_broker)[name].partitions) == 3
    print("BROKER", kafka_broker.bootstrap_servers, flush=True)

def test_that_fails(kafka_broker):
    with open(kafka_broker.log_path, "a") as log:
        log.write("said while the test ran\\n")
    assert False
"""
CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def kafka_broker_settings():
    return {"num.partitions": 2}
"""
A_FIXTURE_OF_THEIR_OWN = """
import pytest

@pytest.fixture
def kafka_broker():
    return "a broker of another kind"

def test_that_fails(kafka_broker):
    assert kafka_broker == ""

def test_that_passes(kafka_broker):
    assert kafka_broker
"""
FREE = """
import sys
import tidelog.testing.pytest_plugin
heavy = [name for name in sys.modules if name.startswith(("tidelog.server", "tidelog.protocol", "tidelog.client"))]
assert not heavy, heavy
"""


def run_pytest(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "test_users.py").write_text(USERS_TESTS)
    (directory / "conftest.py").write_text(CONFTEST)
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *arguments, str(directory)]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True)


def brokers(output: str) -> set[str]:
    return {line.split()[1] for line in output.splitlines() if line.startswith("BROKER ")}


def test_one_broker_a_session_and_its_log_beside_a_failure(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, "-p", "no:xdist")
    assert "4 passed" in outcome.stdout, outcome.stdout
    assert "1 failed" in outcome.stdout, outcome.stdout
    assert len(brokers(outcome.stdout)) == 1
    shown = outcome.stdout.partition("Tidelog broker log, call")[2]
    assert "said while the test ran" in shown


def test_under_xdist_each_worker_has_its_own(tmp_path: Path) -> None:
    outcome = run_pytest(tmp_path, "-n", "2", "--dist", "each", "-k", "own")
    assert "8 passed" in outcome.stdout, outcome.stdout
    assert len(brokers(outcome.stdout)) == 2


def test_a_fixture_of_the_same_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(A_FIXTURE_OF_THEIR_OWN)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "1 failed, 1 passed" in outcome.stdout, outcome.stdout + outcome.stderr
    assert "Tidelog broker log" not in outcome.stdout


def test_the_plugin_costs_nothing_until_it_is_used() -> None:
    subprocess.run([sys.executable, "-c", FREE], check=True)
