"""Apache Kafka in one node or three, each a process that a test may kill with -9 and bring back."""

import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, ClusterMetadata
from tests.interop.apache.broker import CLUSTER_ID, START_SECONDS_MAX
from tests.interop.apache.jars import java_command, run_tool
from tests.support.ports import held_ports

# A dead broker is noticed within seconds: a test waits for it. Records of tests may be years old, and are kept.
PROPERTIES = """\
process.roles=broker,controller
node.id={node_id}
controller.quorum.voters={voters}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={directory}
default.replication.factor={replicas}
min.insync.replicas={min_isr}
offsets.topic.num.partitions=2
offsets.topic.replication.factor={replicas}
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={min_isr}
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=400
replica.lag.time.max.ms=3000
log.retention.ms=-1
log.cleaner.dedupe.buffer.size=4000000
num.network.threads=1
num.io.threads=2
"""


@dataclass
class ApacheNode:
    node_id: int
    port: int
    properties: Path
    output: Path
    jars: Path
    process: "subprocess.Popen[bytes] | None" = None

    def format(self) -> None:
        run_tool(self.jars, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self.properties))

    def start(self) -> None:
        with self.output.open("ab") as out:
            command = java_command(self.jars, "kafka.Kafka", str(self.properties))
            self.process = subprocess.Popen(command, stdout=out, stderr=out)

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


class ApacheCluster:
    def __init__(self, nodes: list[ApacheNode]) -> None:
        self.nodes = nodes

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def await_all(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        deadline = time.monotonic() + START_SECONDS_MAX
        while len(admin.list_topics(timeout=START_SECONDS_MAX).brokers) < len(self.nodes):
            assert time.monotonic() < deadline, [node.output.read_text()[-1500:] for node in self.nodes]
            time.sleep(0.2)

    def await_in_sync(self) -> None:
        """Every replica: the next broker may die."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        deadline = time.monotonic() + START_SECONDS_MAX
        while (behind := _behind(admin.list_topics(timeout=START_SECONDS_MAX))) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert not behind

    def revive(self) -> None:
        for node in self.nodes:
            if node.process is None:
                node.start()
        self.await_all()
        self.await_in_sync()

    def node(self, node_id: int) -> ApacheNode:
        return next(node for node in self.nodes if node.node_id == node_id)

    def leader(self, topic: str, partition: int = 0) -> ApacheNode:
        metadata = AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(topic, timeout=START_SECONDS_MAX)
        return self.node(metadata.topics[topic].partitions[partition].leader)


def _behind(metadata: ClusterMetadata) -> list[str]:
    return [
        f"{topic.topic}-{partition.id}"
        for topic in metadata.topics.values()
        for partition in topic.partitions.values()
        if len(partition.isrs) < len(partition.replicas)
    ]


@contextmanager
def apache_cluster(jars: Path, directory: Path, count: int) -> Iterator[ApacheCluster]:
    nodes = _nodes(jars, directory, count)
    with ExitStack() as stack:
        for node in nodes:
            stack.callback(node.kill)
        with ThreadPoolExecutor() as pool:
            list(pool.map(ApacheNode.format, nodes))
        cluster = ApacheCluster(nodes)
        cluster.revive()
        yield cluster


def _nodes(jars: Path, directory: Path, count: int) -> list[ApacheNode]:
    ports = held_ports(2 * count)
    voters = ",".join(f"{number + 1}@127.0.0.1:{ports[2 * number + 1]}" for number in range(count))
    nodes = []
    for number in range(count):
        port, controller_port = ports[2 * number : 2 * number + 2]
        properties = directory / f"node-{number + 1}.properties"
        text = PROPERTIES.format(
            node_id=number + 1,
            voters=voters,
            port=port,
            controller_port=controller_port,
            directory=directory / f"node-{number + 1}",
            replicas=count,
            min_isr=max(1, count - 1),
        )
        properties.write_text(text)
        nodes.append(ApacheNode(number + 1, port, properties, directory / f"node-{number + 1}.output", jars))
    return nodes
