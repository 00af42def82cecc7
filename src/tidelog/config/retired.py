"""Settings that older files carry and Kafka 4 no longer has, and what to do about each. Loading one is a warning:
Kafka ignores them too, but says nothing."""

_ZOOKEEPER = "there is no ZooKeeper; the quorum is set by process.roles and controller.quorum.bootstrap.servers"
_FORMAT = "the record format is v2, always"

RETIRED = {
    "zookeeper.connect": _ZOOKEEPER,
    "zookeeper.connection.timeout.ms": _ZOOKEEPER,
    "zookeeper.session.timeout.ms": _ZOOKEEPER,
    "zookeeper.set.acl": _ZOOKEEPER,
    "broker.id.generation.enable": "set node.id",
    "reserved.broker.max.id": "set node.id",
    "control.plane.listener.name": "controllers have listeners of their own: controller.listener.names",
    "inter.broker.protocol.version": "the level is the feature metadata.version, which the cluster agrees on",
    "log.message.format.version": _FORMAT,
    "log.message.downconversion.enable": _FORMAT,
    "log.message.timestamp.difference.max.ms": "use log.message.timestamp.before.max.ms and .after.max.ms",
    "leader.imbalance.per.broker.percentage": "preferred leaders are restored whenever they are in sync",
    "delegation.token.master.key": "use delegation.token.secret.key",
    "password.encoder.secret": "dynamic secrets are kept in the metadata log",
    "offsets.commit.required.acks": "commits always wait for all replicas in sync",
    "auto.include.jmx.reporter": "there is no JMX",
    "group.coordinator.new.enable": "there is one group coordinator",
    "host.name": "use listeners",
    "port": "use listeners",
    "advertised.host.name": "use advertised.listeners",
    "advertised.port": "use advertised.listeners",
}
