"""Files that tests start from. `STOCK` has the settings of the server.properties that Kafka ships."""

from tidelog.config import BrokerConfig, load_broker_config
from tidelog.config.properties import format_properties

STOCK = """
# one node, both roles
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093

listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,\\
    SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600

log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1

! how long data stays
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "advertised.listeners": "PLAINTEXT://localhost:9092",
    "controller.listener.names": "CONTROLLER",
}
BROKER_ONLY = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.quorum.voters": "2@controller:9093",
    "listeners": "PLAINTEXT://:9092",
    "controller.listener.names": "CONTROLLER",
}
CONTROLLER_ONLY = {
    "process.roles": "controller",
    "node.id": "2",
    "controller.quorum.voters": "2@controller:9093",
    "listeners": "CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
}


def config(**changes: str) -> BrokerConfig:
    """Return the configuration of a combined node with some settings changed; underscores stand for dots."""
    return load(COMBINED, {name.replace("_", "."): value for name, value in changes.items()})


def load(base: dict[str, str], changes: dict[str, str]) -> BrokerConfig:
    return load_broker_config(format_properties(base | changes)).config
