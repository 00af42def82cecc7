"""The pytest plugin: found by its entry point, free until a test asks for one of its fixtures.

    def test_orders(kafka_broker, kafka_topic):
        topic = kafka_topic("orders", partitions=3)
        producer = Producer({"bootstrap.servers": kafka_broker.bootstrap_servers})

One broker serves the whole session (under pytest-xdist: one for each worker), so a test makes names of its own:
`kafka_topic` does, and `kafka_topic_prefix` is for what else needs a name (groups, transactional ids).
"""

import re
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tidelog.testing.broker import Broker, Setting

NAME_CHARACTERS_MAX = 80  # of a test's name in a topic's name: Kafka allows 249 in all
LOG_BYTES_MAX = 20_000

_log_positions = pytest.StashKey[int]()


@pytest.fixture(scope="session")
def kafka_broker_settings() -> "Mapping[str, Setting]":
    """Return the settings of `kafka_broker`, by Kafka's names. To change them, define a fixture of this name in
    conftest.py."""
    return {}


@pytest.fixture(scope="session")
def kafka_broker(kafka_broker_settings: "Mapping[str, Setting]") -> "Iterator[Broker]":
    """Yield a broker in a process of its own, for the session."""
    from tidelog.testing.broker import broker

    with broker(kafka_broker_settings) as started:
        yield started


@pytest.fixture
def kafka_topic_prefix(request: pytest.FixtureRequest) -> str:
    """Return a prefix for names that no other test has, nor another run of this one."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", request.node.name)[:NAME_CHARACTERS_MAX].strip("-")
    return f"{name}-{uuid.uuid4().hex[:8]}-"


@pytest.fixture
def kafka_topic(kafka_broker: "Broker", kafka_topic_prefix: str) -> Callable[..., str]:
    """Return `kafka_topic(name="topic", partitions=1, **configs)`, which creates a topic of this test and returns its
    full name."""
    from tidelog.testing.topics import create_topic

    def create(name: str = "topic", partitions: int = 1, **configs: "Setting") -> str:
        full_name = kafka_topic_prefix + name
        create_topic(kafka_broker.bootstrap_servers, full_name, partitions, configs)
        return full_name

    return create


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the broker logged while a test ran to its report, if it failed."""
    report = yield
    log = _log_of(getattr(item, "funcargs", {}).get("kafka_broker"))
    if log is None:
        return report
    logged = _read(log)
    if report.when == "setup":
        item.stash[_log_positions] = len(logged)
    elif report.failed:
        shown = logged[item.stash.get(_log_positions, 0) :][-LOG_BYTES_MAX:].decode(errors="replace")
        report.sections.append((f"Tidelog broker log, {report.when}", shown or "(nothing)"))
    return report


def _log_of(broker: object) -> "Path | None":
    """Return the log file of our broker. None where the fixture `kafka_broker` is the project's own and has nothing to
    do with us."""
    if broker is None:
        return None
    from tidelog.testing.broker import Broker

    return broker.log_path if isinstance(broker, Broker) else None


def _read(log: "Path") -> bytes:
    """Return the log; empty where a test has closed the broker, which removes its log."""
    return log.read_bytes() if log.exists() else b""
