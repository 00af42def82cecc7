"""ConsoleConsumer in a group, and ConsumerGroupCommand with every action it has, under both group protocols."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from tests.interop.apache.tool_shell import ToolShell, rows, tool_shell

from tidelog import testing
from tidelog.testing import Broker

TOPIC = "lines"
RECORDS = 60
JOIN_SECONDS_MAX = 30


@pytest.fixture
def broker() -> Iterator[Broker]:
    with testing.broker(num_partitions=2) as started:
        producer = Producer({"bootstrap.servers": started.bootstrap_servers})
        for index in range(RECORDS):
            producer.produce(TOPIC, b"line %d" % index, partition=index % 2)
        assert producer.flush(JOIN_SECONDS_MAX) == 0
        yield started


@contextmanager
def member(broker: Broker, group: str, protocol: str) -> Iterator[None]:
    """Run a member that has all partitions and stays in the group."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": group,
        "group.protocol": protocol,
        "client.id": "a-member",
        "enable.auto.commit": False,
    }
    consumer = Consumer(settings)
    consumer.subscribe([TOPIC])
    deadline = time.monotonic() + JOIN_SECONDS_MAX
    while len(consumer.assignment()) < 2:
        assert time.monotonic() < deadline
        consumer.poll(0.1)
    yield
    consumer.close()


def consume_all(shell: ToolShell, group: str, protocol: str) -> None:
    options = ("--group", group, "--command-property", f"group.protocol={protocol}", "--from-beginning")
    assert sorted(shell.consume(TOPIC, RECORDS, *options)) == sorted(f"line {index}" for index in range(RECORDS))


def offsets(printed: str, column: str) -> dict[str, str]:
    return {row["PARTITION"]: row[column] for row in rows(printed)}


def describe_members(shell: ToolShell, group: str, protocol: str) -> None:
    described = shell.groups("--describe", "--group", group, "--offsets", "--verbose")
    assert offsets(described, "CURRENT-OFFSET") == {"0": "30", "1": "30"}
    assert offsets(described, "LAG") == {"0": "0", "1": "0"}
    assert offsets(described, "CLIENT-ID") == {"0": "a-member", "1": "a-member"}
    assert offsets(described, "LEADER-EPOCH") == {"0": "0", "1": "0"}
    (one,) = rows(shell.groups("--describe", "--group", group, "--members", "--verbose"))
    assert (one["CLIENT-ID"], one["#PARTITIONS"]) == ("a-member", "2")
    assert one["CURRENT-ASSIGNMENT"] == f"{TOPIC}:0,1"
    assert one["TARGET-ASSIGNMENT"] == (f"{TOPIC}:0,1" if protocol == "consumer" else "-")
    assert one["CURRENT-EPOCH"] == one["TARGET-EPOCH"]
    state = shell.groups("--describe", "--group", group, "--state", "--verbose").split()
    assert "Stable" in state
    assert ("uniform" if protocol == "consumer" else "range") in state
    assert state[-1] == "1"  # members


def refuse_while_a_member_lives(shell: ToolShell, group: str) -> None:
    assert "GroupNotEmptyException" in shell.groups("--delete", "--group", group)
    to_start = ("--reset-offsets", "--group", group, "--all-topics", "--to-earliest", "--execute")
    assert "current state is Stable" in shell.groups(*to_start)
    refused = shell.groups("--delete-offsets", "--group", group, "--topic", TOPIC)
    assert "Encountered some partition-level error" in refused
    assert "subscribed" in refused


def change_offsets(shell: ToolShell, group: str) -> None:
    reset = ("--reset-offsets", "--group", group, "--topic", TOPIC)
    assert offsets(shell.groups(*reset, "--to-earliest", "--dry-run"), "NEW-OFFSET") == {"0": "0", "1": "0"}
    described = shell.groups("--describe", "--group", group)
    assert offsets(described, "CURRENT-OFFSET") == {"0": "30", "1": "30"}
    assert offsets(shell.groups(*reset, "--shift-by", "-4", "--execute"), "NEW-OFFSET") == {"0": "26", "1": "26"}
    described = shell.groups("--describe", "--group", group)
    assert offsets(described, "LAG") == {"0": "4", "1": "4"}
    shell.groups(
        "--reset-offsets",
        "--group",
        group,
        "--topic",
        f"{TOPIC}:1",
        "--to-datetime",
        "2000-01-01T00:00:00.000",
        "--execute",
    )
    assert offsets(shell.groups("--describe", "--group", group), "CURRENT-OFFSET") == {"0": "26", "1": "0"}
    assert "Successful" in shell.groups("--delete-offsets", "--group", group, "--topic", f"{TOPIC}:1")
    assert offsets(shell.groups("--describe", "--group", group), "CURRENT-OFFSET") == {"0": "26"}


def test_groups_of_both_protocols(jars: Path, broker: Broker) -> None:
    with tool_shell(jars, broker.bootstrap_servers) as shell:
        for protocol in ("classic", "consumer"):
            group = f"of-{protocol}"
            consume_all(shell, group, protocol)
            with member(broker, group, protocol):
                describe_members(shell, group, protocol)
                refuse_while_a_member_lives(shell, group)
            change_offsets(shell, group)
        listed = rows(shell.groups("--list", "--state"))
        assert {row["GROUP"]: row["STATE"] for row in listed} == {"of-classic": "Empty", "of-consumer": "Empty"}
        listed = rows(shell.groups("--list", "--type", "consumer"))
        assert {row["GROUP"]: row["TYPE"] for row in listed} == {"of-consumer": "Consumer"}
        assert "was successful" in shell.groups("--delete", "--all-groups")
        assert shell.groups("--list").split() == []
        assert "GroupIdNotFoundException" in shell.groups("--describe", "--group", "of-consumer")
