"""The nodes that the documentation tells people to run are run as it says, but for ports and directories: each says
nothing that is an error, and serves groups and transactions."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.support.ports import held_ports
from tests.unit.config.files import STOCK

ROOT = Path(__file__).parent.parent.parent
OPERATIONS = (ROOT / "docs/operations.md").read_text()
BIN = Path(sys.executable).parent
READY, STOP_S_MAX, WAIT_S = "Tidelog is ready", 30, 30
BY_HAND = re.search(r"^```\n(cat > server\.properties.*?)^```$", OPERATIONS, re.MULTILINE | re.DOTALL)
PROPERTIES = re.search(r"<<END\n(.*?)^END$", OPERATIONS, re.MULTILINE | re.DOTALL)
DOCKER = re.findall(r"^    tidelog ((?:format|start) .*)$", OPERATIONS, re.MULTILINE)


class Place:
    """A directory and two ports that replace the ones in the documentation."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port, self.controller_port = held_ports(2)

    def __call__(self, text: str) -> str:
        text = text.replace("9092", str(self.port)).replace("9093", str(self.controller_port))
        text = text.replace("/etc/tidelog/server.properties", str(self.directory / "server.properties"))
        for theirs in ("/var/lib/tidelog", "/tmp/kraft-combined-logs"):
            text = text.replace(theirs, str(self.directory / "data"))
        return text

    def run(self, script: str) -> None:
        subprocess.run(["bash", "-ec", script], check=True, cwd=self.directory, env=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), "HOME": str(self.directory)}

    @contextmanager
    def running(self, script: str) -> Iterator[None]:
        """Run the script, whose last command starts a node; yield while the node serves. At the end its log has no
        error in it."""
        log = self.directory / "log"
        command = ["bash", "-c", f"set -e\n{script}"]
        with log.open("w") as stderr:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=self.directory, env=self.environment
            )
        try:
            assert process.stdout is not None
            assert any(READY in line for line in process.stdout), log.read_text()
            yield
        finally:
            process.terminate()
            process.communicate(timeout=STOP_S_MAX)
        assert "ERROR" not in log.read_text()
        assert process.returncode == 0


def exchange(bootstrap: str) -> None:
    """Commit a transaction, and read it with a group that commits its offset."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "documented"})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce("documented", b"value")
    producer.commit_transaction(WAIT_S)
    group = {"group.id": "documented", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": bootstrap, "enable.auto.commit": False, **group})
    try:
        consumer.subscribe(["documented"])
        message = consumer.poll(WAIT_S)
        assert message is not None
        assert message.value() == b"value"
        consumer.commit(message=message, asynchronous=False)
        (committed,) = consumer.committed([TopicPartition("documented", 0)], timeout=WAIT_S)
        assert committed.offset == 1
    finally:
        consumer.close()


@pytest.fixture
def topic_partition(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_by_hand(topic_partition: Place) -> None:
    assert BY_HAND
    # The shell makes way for its last command, so that the signal reaches the node.
    script = re.sub(r"^(tidelog start )", r"exec \1", topic_partition(BY_HAND[1]), flags=re.MULTILINE)
    assert script.count("exec") == 1
    with topic_partition.running(script):
        exchange(f"127.0.0.1:{topic_partition.port}")


def test_in_a_container(topic_partition: Place) -> None:
    assert PROPERTIES
    (topic_partition.directory / "server.properties").write_text(topic_partition(PROPERTIES[1]))
    formatting, starting = DOCKER
    topic_partition.run(f"tidelog {topic_partition(formatting)}")
    topic_partition.run(
        f"tidelog {topic_partition(formatting)}"
    )  # --ignore-formatted lets every start of a container run this
    with topic_partition.running(f"exec tidelog {topic_partition(starting)}"):
        exchange(f"127.0.0.1:{topic_partition.port}")


def test_as_a_service(topic_partition: Place) -> None:
    """The node runs on the file that `By hand` writes, with the commands of the systemd instructions and unit."""
    assert PROPERTIES
    (topic_partition.directory / "server.properties").write_text(topic_partition(PROPERTIES[1]))
    formatting = re.search(r"^sudo -u tidelog /opt/tidelog/bin/(tidelog format .*)$", OPERATIONS, re.MULTILINE)
    unit = (ROOT / "packaging/tidelog.service").read_text()
    starting = re.search(r"^ExecStart=/opt/tidelog/bin/(tidelog start .*)$", unit, re.MULTILINE)
    assert formatting
    assert starting
    topic_partition.run(topic_partition(formatting[1]).replace("/opt/tidelog/bin/", ""))
    with topic_partition.running(f"exec {topic_partition(starting[1])}"):
        exchange(f"127.0.0.1:{topic_partition.port}")


def test_the_file_that_kafka_ships(topic_partition: Place) -> None:
    """The documentation says that `A server.properties of Apache Kafka 4 works unchanged`: Kafka's two commands are
    run, with ours for theirs."""
    (topic_partition.directory / "server.properties").write_text(topic_partition(STOCK))
    topic_partition.run('tidelog format --standalone -t "$(tidelog random-uuid)" -c server.properties')
    with topic_partition.running("exec tidelog start server.properties"):
        exchange(f"127.0.0.1:{topic_partition.port}")
