"""Rules between settings: each broken alone, and reported under the setting that breaks it.

The rules were run beside Apache Kafka 4.3.1 on 6,000 random configurations (of settings that do not say they differ).
They part in three places, on purpose: a controller listener may be named in lower case; a bootstrap server needs a
host; and brokers log in by the protocol that their listener is mapped to, not by the one it is named after.
"""

import pytest
from tests.unit.config.files import BROKER_ONLY, COMBINED, CONTROLLER_ONLY, load

from tidelog.config import ConfigError

BROKEN = [
    # nodes and the quorum
    (COMBINED, {"broker.id": "2"}, "broker.id"),
    (COMBINED, {"controller.quorum.bootstrap.servers": ""}, "controller.quorum.bootstrap.servers"),
    (COMBINED, {"controller.quorum.voters": "1@a:1,1@b:2"}, "controller.quorum.voters"),
    (COMBINED, {"controller.quorum.voters": "1@0.0.0.0:1"}, "controller.quorum.voters"),
    (COMBINED, {"controller.quorum.voters": "2@a:1"}, "controller.quorum.voters"),
    (BROKER_ONLY, {"controller.quorum.voters": "1@a:1"}, "controller.quorum.voters"),
    (BROKER_ONLY, {"controller.quorum.auto.join.enable": "true"}, "controller.quorum.auto.join.enable"),
    (BROKER_ONLY, {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"}, "controller.listener.names"),
    (BROKER_ONLY, {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}, "controller.listener.names"),
    (COMBINED, {"listeners": "PLAINTEXT://:9092"}, "controller.listener.names"),
    (CONTROLLER_ONLY, {"listeners": "CONTROLLER://:9093,PLAINTEXT://:9092"}, "listeners"),
    (CONTROLLER_ONLY, {"inter.broker.listener.name": "CONTROLLER"}, "inter.broker.listener.name"),
    (COMBINED, {"group.coordinator.rebalance.protocols": "consumer"}, "group.coordinator.rebalance.protocols"),
    (COMBINED, {"log.dirs": "/a", "cordoned.log.dirs": "/b"}, "cordoned.log.dirs"),
    (COMBINED, {"log.dirs": "/a", "cordoned.log.dirs": "*,/a"}, "cordoned.log.dirs"),
    # listeners
    (COMBINED, {"listeners": "PLAINTEXT://:1,CONTROLLER://:2,plaintext://:3"}, "listeners"),
    (COMBINED, {"advertised.listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "advertised.listeners"),
    (COMBINED, {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"}, "listeners"),
    (COMBINED, {"listeners": "PLAINTEXT://10.0.0.1:1,CONTROLLER://10.0.0.2:1"}, "listeners"),
    (COMBINED, {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,MINE://:1"}, "listeners"),
    (COMBINED, {"advertised.listeners": "PLAINTEXT://a:1,SSL://a:2"}, "advertised.listeners"),
    (COMBINED, {"advertised.listeners": "CONTROLLER://a:1"}, "advertised.listeners"),
    (COMBINED, {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "advertised.listeners"),
    (COMBINED, {"advertised.listeners": "PLAINTEXT://a:1,CONTROLLER://0.0.0.0:1"}, "advertised.listeners"),
    (COMBINED, {"inter.broker.listener.name": "SSL"}, "inter.broker.listener.name"),
    (CONTROLLER_ONLY, {"inter.broker.listener.name": "MINE"}, "inter.broker.listener.name"),
    (COMBINED, {"security.inter.broker.protocol": "SSL"}, "security.inter.broker.protocol"),
    (
        COMBINED,
        {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
        "security.inter.broker.protocol",
    ),
    (COMBINED, {"early.start.listeners": "MINE"}, "early.start.listeners"),
    # numbers
    (COMBINED, {"log.cleaner.dedupe.buffer.size": "1048576"}, "log.cleaner.dedupe.buffer.size"),
    (COMBINED, {"log.cleaner.threads": "128"}, "log.cleaner.dedupe.buffer.size"),
    (COMBINED, {"log.cleaner.threads": "0"}, "log.cleaner.threads"),
    (COMBINED, {"queued.max.request.bytes": "1000"}, "queued.max.request.bytes"),
    (COMBINED, {"max.connections.per.ip": "0"}, "max.connections.per.ip"),
    (COMBINED, {"connections.max.idle.ms": "100"}, "connection.failed.authentication.delay.ms"),
    (COMBINED, {"replica.fetch.wait.max.ms": "30001", "replica.lag.time.max.ms": "60000"}, "replica.fetch.wait.max.ms"),
    (COMBINED, {"replica.lag.time.max.ms": "499"}, "replica.fetch.wait.max.ms"),
    (COMBINED, {"group.consumer.heartbeat.interval.ms": "4999"}, "group.consumer.min.heartbeat.interval.ms"),
    (COMBINED, {"group.consumer.heartbeat.interval.ms": "15001"}, "group.consumer.heartbeat.interval.ms"),
    (COMBINED, {"group.consumer.session.timeout.ms": "44999"}, "group.consumer.min.session.timeout.ms"),
    (COMBINED, {"group.consumer.session.timeout.ms": "60001"}, "group.consumer.session.timeout.ms"),
    (COMBINED, {"group.consumer.assignment.interval.ms": "15001"}, "group.consumer.assignment.interval.ms"),
    (
        COMBINED,
        {"group.consumer.heartbeat.interval.ms": "45000", "group.consumer.max.heartbeat.interval.ms": "45000"},
        "group.consumer.heartbeat.interval.ms",
    ),
    (
        COMBINED,
        {"group.share.heartbeat.interval.ms": "45000", "group.share.max.heartbeat.interval.ms": "45000"},
        "group.share.heartbeat.interval.ms",
    ),
    (COMBINED, {"group.share.session.timeout.ms": "60001"}, "group.share.session.timeout.ms"),
    (COMBINED, {"group.share.assignment.interval.ms": "15001"}, "group.share.assignment.interval.ms"),
    (COMBINED, {"group.share.record.lock.duration.ms": "60001"}, "group.share.record.lock.duration.ms"),
    (COMBINED, {"group.share.record.lock.duration.ms": "14999"}, "group.share.min.record.lock.duration.ms"),
    (COMBINED, {"group.share.min.delivery.count.limit": "5", "group.share.delivery.count.limit": "4"},
     "group.share.min.delivery.count.limit"),
    (COMBINED, {"group.share.partition.max.record.locks": "4001"}, "group.share.partition.max.record.locks"),
    (COMBINED, {"group.consumer.min.assignment.interval.ms": "1001"}, "group.consumer.min.assignment.interval.ms"),
    (COMBINED, {"group.share.min.session.timeout.ms": "45001"}, "group.share.min.session.timeout.ms"),
    (COMBINED, {"group.share.min.heartbeat.interval.ms": "5001"}, "group.share.min.heartbeat.interval.ms"),
    (COMBINED, {"group.share.heartbeat.interval.ms": "15001"}, "group.share.heartbeat.interval.ms"),
    (COMBINED, {"group.share.min.assignment.interval.ms": "1001"}, "group.share.min.assignment.interval.ms"),
    (COMBINED, {"group.share.delivery.count.limit": "7", "group.share.max.delivery.count.limit": "6"},
     "group.share.delivery.count.limit"),
    (COMBINED, {"group.share.partition.max.record.locks": "500", "group.share.min.partition.max.record.locks": "501"},
     "group.share.min.partition.max.record.locks"),
    (COMBINED, {"group.share.max.share.sessions": "199"}, "group.share.max.size"),
    # a broker's defaults for its topics
    (COMBINED, {"log.roll.ms": "0"}, "log.roll.ms"),
    (COMBINED, {"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms"),
    (COMBINED, {"log.flush.interval.ms": "-1"}, "log.flush.interval.ms"),
    (COMBINED, {"log.flush.scheduler.interval.ms": "-1"}, "log.flush.scheduler.interval.ms"),
    (COMBINED, {"log.retention.ms": "0"}, "log.retention.ms"),
    (COMBINED, {"log.retention.minutes": "0"}, "log.retention.minutes"),
    (COMBINED, {"log.retention.hours": "0"}, "log.retention.hours"),
    (
        COMBINED,
        {"log.cleaner.min.compaction.lag.ms": "6", "log.cleaner.max.compaction.lag.ms": "5"},
        "log.cleaner.min.compaction.lag.ms",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("base", "changes", "name"), BROKEN)
def test_broken(base: dict[str, str], changes: dict[str, str], name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(base, changes)
    assert [problem.name for problem in caught.value.problems][:1] == [name]
    assert all(problem.reason for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (COMBINED, {}),
        (BROKER_ONLY, {}),
        (CONTROLLER_ONLY, {}),
        (COMBINED, {"controller.quorum.voters": "1@localhost:9093,2@b:9093"}),
        (COMBINED, {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"}),
        (COMBINED, {"listeners": "PLAINTEXT://:0,CONTROLLER://:0"}),
        (COMBINED, {"listeners": "plaintext://:1,controller://:2"}),
        (COMBINED, {"log.dirs": "/a,/b", "cordoned.log.dirs": "/b"}),
        (COMBINED, {"cordoned.log.dirs": "*"}),
        (COMBINED, {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "host:5"}),
        (COMBINED, {"connections.max.idle.ms": "-1"}),
        (COMBINED, {"queued.max.request.bytes": "104857600"}),
        (COMBINED, {"log.retention.ms": "-7", "log.retention.hours": "0"}),
        (COMBINED, {"log.local.retention.ms": "-1"}),
            (COMBINED, {"early.start.listeners": "CONTROLLER"}),
        (BROKER_ONLY, {"listeners": "PLAINTEXT://0.0.0.0:9092"}),
    ],
)  # fmt: skip
def test_kept(base: dict[str, str], changes: dict[str, str]) -> None:
    load(base, changes)
