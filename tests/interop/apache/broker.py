"""One node of Apache Kafka, broker and controller in one, on a directory of ours."""

import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient
from tests.interop.apache.jars import java_command, run_tool
from tests.support.ports import held_ports

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"

# One partition each for the internal topics, no waiting before a rebalance, and a cleaner that looks often.
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={directory}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
transaction.abort.timed.out.transaction.cleanup.interval.ms=100
log.cleaner.backoff.ms=200
log.cleaner.dedupe.buffer.size=4000000
log.initial.task.delay.ms=100
num.network.threads=1
num.io.threads=2
"""


def format_directory(jars: Path, directory: Path, settings: Mapping[str, str] | None = None) -> None:
    port, controller_port = held_ports(2)
    properties = write_properties(directory, port, controller_port, settings)
    run_tool(jars, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties))


@contextmanager
def running_broker(
    jars: Path, directory: Path, settings: Mapping[str, str] | None = None, jvm: Sequence[str] = ()
) -> Iterator[str]:
    """Run a broker on a formatted directory; yield its bootstrap address. It is stopped as an operator would stop it.
    `jvm` is handed to `java_command`."""
    port, controller_port = held_ports(2)
    properties = write_properties(directory, port, controller_port, settings)
    output = directory.with_suffix(".output")
    with output.open("ab") as out:
        command = java_command(jars, "kafka.Kafka", str(properties), jvm=jvm)
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        _await_broker(process, port, output)
        yield f"127.0.0.1:{port}"
    finally:
        _stop(process)
    assert process.returncode in (0, 143), output.read_text()[-3000:]


def write_properties(
    directory: Path, port: int, controller_port: int, settings: Mapping[str, str] | None = None
) -> Path:
    """Write the broker's properties file and return its path. `settings` come last, where they override ours, and may
    name the ports and the directory as ours do."""
    path = directory.with_suffix(".properties")
    text = PROPERTIES + "".join(f"{name}={value}\n" for name, value in (settings or {}).items())
    path.write_text(text.format(directory=directory, port=port, controller_port=controller_port))
    return path


def _await_broker(process: "subprocess.Popen[bytes]", port: int, output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while not _accepts(port):
        assert process.poll() is None, output.read_text()[-3000:]
        assert time.monotonic() < deadline, output.read_text()[-3000:]
        time.sleep(0.1)
    AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}).list_topics(timeout=START_SECONDS_MAX)


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
