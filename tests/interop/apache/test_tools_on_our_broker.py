"""Apache's command-line tools, and the Java clients in them, against our broker. Each call starts a JVM, so each test
checks much."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.apache.jars import TOOL_SECONDS_MAX, java_command, run_tool

from tidelog import testing
from tidelog.testing import Broker

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"


@pytest.fixture
def broker() -> Iterator[Broker]:
    with testing.broker() as started:
        yield started


def tool(jars: Path, broker: Broker, main_class: str, *arguments: str) -> str:
    return run_tool(jars, main_class, "--bootstrap-server", broker.bootstrap_servers, *arguments)[0]


def console_produce(jars: Path, broker: Broker, topic: str, lines: list[str]) -> None:
    command = java_command(
        jars,
        PRODUCER,
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", topic),
        *("--property", "parse.key=true", "--compression-codec", "zstd"),
    )
    text = "".join(f"{line}\n" for line in lines)
    outcome = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX)
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    assert "ERROR" not in outcome.stdout + outcome.stderr


def test_topics_and_configs(jars: Path, broker: Broker) -> None:
    tool(jars, broker, TOPICS, "--create", "--topic", "orders", "--partitions", "3", "--config", "retention.ms=60000")
    tool(jars, broker, TOPICS, "--alter", "--topic", "orders", "--partitions", "4")
    described = tool(jars, broker, TOPICS, "--describe", "--topic", "orders")
    assert "PartitionCount: 4" in described
    assert "ReplicationFactor: 1" in described
    assert "retention.ms=60000" in described
    topic = ("--entity-type", "topics", "--entity-name", "orders")
    tool(jars, broker, CONFIGS, "--alter", *topic, "--add-config", "max.message.bytes=2000")
    tool(jars, broker, CONFIGS, "--alter", *topic, "--add-config", "segment.ms=70000")
    described = tool(jars, broker, CONFIGS, "--describe", *topic)
    assert "max.message.bytes=2000" in described
    # Apache's broker answers the same: the synonyms of segment.ms begin at log.roll.ms, which has no default.
    assert "segment.ms=70000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:segment.ms=70000}" in described
    tool(jars, broker, TOPICS, "--delete", "--topic", "orders")
    assert "orders" not in tool(jars, broker, TOPICS, "--list")


def test_records_offsets_and_files(jars: Path, broker: Broker) -> None:
    lines = [f"key-{number}\tvalue {number}" for number in range(50)]
    console_produce(jars, broker, "lines", lines)
    consumed = tool(
        jars,
        broker,
        CONSUMER,
        *("--topic", "lines", "--partition", "0", "--offset", "earliest", "--max-messages", "50"),
        *("--formatter-property", "print.key=true"),
    )
    assert consumed.splitlines() == lines
    assert tool(jars, broker, OFFSETS, "--topic", "lines").split() == ["lines:0:50"]
    broker.stop()
    log = broker.data_directory / "lines-0" / "00000000000000000000.log"
    dumped, _ = run_tool(jars, DUMP, "--files", str(log), "--print-data-log", "--verify-index-only")
    assert re.findall(r"key: (key-\d+) payload: (value \d+)", dumped) == [tuple(line.split("\t")) for line in lines]


def test_the_quorum_is_described(jars: Path, broker: Broker) -> None:
    described = tool(jars, broker, QUORUM, "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", described)
    assert re.search(r"MaxFollowerLag:\s+0\n", described)
