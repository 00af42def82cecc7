"""AlterConfigs: set, delete, append and subtract, and what each resource refuses."""

import re

import pytest
from tests.unit.config.files import config

from tidelog.config import (
    Alteration,
    AlterOp,
    ConfigError,
    alter_broker,
    alter_client_metrics,
    alter_group,
    alter_topic,
    apply_dynamic,
)
from tidelog.model.errors import ErrorCode

SET, DELETE, APPEND, SUBTRACT = AlterOp.SET, AlterOp.DELETE, AlterOp.APPEND, AlterOp.SUBTRACT


def setting(**values: str) -> list[Alteration]:
    return [Alteration(name.replace("_", "."), SET, value) for name, value in values.items()]


def refusals(error: ConfigError) -> list[str]:
    return [problem.name for problem in error.problems]


@pytest.mark.parametrize(
    ("current", "alteration", "after"),
    [
        ({}, Alteration("retention.ms", SET, "5"), {"retention.ms": "5"}),
        ({"retention.ms": "5"}, Alteration("retention.ms", SET, "6"), {"retention.ms": "6"}),
        ({"retention.ms": "5", "flush.ms": "1"}, Alteration("retention.ms", DELETE), {"flush.ms": "1"}),
        ({}, Alteration("retention.ms", DELETE), {}),
        ({}, Alteration("no.such", DELETE), {}),
        # Appended to the default when nothing was set, and never twice.
        ({}, Alteration("cleanup.policy", APPEND, "compact"), {"cleanup.policy": "delete,compact"}),
        ({"cleanup.policy": "compact"}, Alteration("cleanup.policy", APPEND, "compact"), {"cleanup.policy": "compact"}),
        (
            {"cleanup.policy": "compact"},
            Alteration("cleanup.policy", APPEND, "delete,compact"),
            {"cleanup.policy": "compact,delete"},
        ),
        ({}, Alteration("cleanup.policy", SUBTRACT, "delete"), {"cleanup.policy": ""}),
        (
            {"cleanup.policy": "compact,delete"},
            Alteration("cleanup.policy", SUBTRACT, "compact"),
            {"cleanup.policy": "delete"},
        ),
        ({"cleanup.policy": "delete"}, Alteration("cleanup.policy", SUBTRACT, "compact"), {"cleanup.policy": "delete"}),
        (
            {"leader.replication.throttled.replicas": "0:1"},
            Alteration("leader.replication.throttled.replicas", APPEND, "1:2"),
            {"leader.replication.throttled.replicas": "0:1,1:2"},
        ),
    ],
)
def test_operations(current: dict[str, str], alteration: Alteration, after: dict[str, str]) -> None:
    before = dict(current)
    assert alter_topic(config(), current, [alteration]) == after
    assert current == before


@pytest.mark.parametrize(
    ("alterations", "code"),
    [
        ([Alteration("retention.ms", SET, "5"), Alteration("retention.ms", DELETE)], ErrorCode.INVALID_REQUEST),
        ([Alteration("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ([Alteration("retention.ms", APPEND, "5")], ErrorCode.INVALID_CONFIG),
        ([Alteration("retention.ms", SUBTRACT, "5")], ErrorCode.INVALID_CONFIG),
        ([Alteration("retention.ms", SET, "soon")], ErrorCode.INVALID_CONFIG),
        ([Alteration("retention.ms", SET, "-2")], ErrorCode.INVALID_CONFIG),
        ([Alteration("no.such", SET, "5")], ErrorCode.INVALID_CONFIG),
        ([Alteration("no.such", APPEND, "5")], ErrorCode.INVALID_CONFIG),
        ([Alteration("cleanup.policy", APPEND, "shred")], ErrorCode.INVALID_CONFIG),
        ([Alteration("message.max.bytes", SET, "5")], ErrorCode.INVALID_CONFIG),
    ],
)
def test_what_a_topic_refuses(alterations: list[Alteration], code: ErrorCode) -> None:
    with pytest.raises(ConfigError) as caught:
        alter_topic(config(), {}, alterations)
    assert caught.value.code is code
    assert refusals(caught.value) == [alterations[0].name]


REMOTE = {"remote.storage.enable": "true"}


@pytest.mark.parametrize(
    ("current", "asked", "refused"),
    [
        ({}, {"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"}, ["min.compaction.lag.ms"]),
        ({"max.compaction.lag.ms": "5"}, {"min.compaction.lag.ms": "6"}, ["min.compaction.lag.ms"]),
        ({}, REMOTE, ["remote.storage.enable"]),
        ({}, {"remote.storage.enable": "false"}, []),
        ({}, {"retention.ms": "5", "local.retention.ms": "6"}, []),
        (REMOTE, {"retention.ms": "5"}, []),
        (REMOTE, {"remote.storage.enable": "false"}, ["remote.storage.enable"]),
        (REMOTE, {"remote.storage.enable": "false", "remote.log.delete.on.disable": "true"}, ["remote.storage.enable"]),
    ],
)
def test_rules_of_a_topic(current: dict[str, str], asked: dict[str, str], refused: list[str]) -> None:
    alterations = [Alteration(name, SET, value) for name, value in asked.items()]
    if not refused:
        assert alter_topic(config(), current, alterations) == current | asked
        return
    with pytest.raises(ConfigError) as caught:
        alter_topic(config(), current, alterations)
    assert refusals(caught.value) == refused


def test_the_older_request_replaces_everything_and_still_sees_what_was() -> None:
    stored = {"retention.ms": "5", **REMOTE}
    assert alter_topic(config(), {}, setting(flush_ms="5")) == {"flush.ms": "5"}
    with pytest.raises(ConfigError, match="remote store"):
        alter_topic(config(), {}, setting(flush_ms="5"), stored=stored)


def test_what_another_version_stored_for_a_group_is_left_alone() -> None:
    current = {"from.the.future": "1", "consumer.session.timeout.ms": "soon"}
    asked = {"share.delivery.count.limit": "6"}
    alterations = [Alteration(name, SET, value) for name, value in asked.items()]
    assert alter_group(config(), current, alterations) == current | asked


def test_what_another_version_stored_is_left_alone() -> None:
    current = {"from.the.future": "1", "retention.ms": "soon"}
    assert alter_topic(config(), current, setting(flush_ms="5")) == current | {"flush.ms": "5"}


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"consumer.session.timeout.ms": "50000"}, []),
        ({"consumer.session.timeout.ms": "44999"}, ["consumer.session.timeout.ms"]),
        ({"consumer.session.timeout.ms": "60001"}, ["consumer.session.timeout.ms"]),
        ({"share.delivery.count.limit": "11"}, ["share.delivery.count.limit"]),
        ({"share.auto.offset.reset": "none"}, ["share.auto.offset.reset"]),
        ({"group.consumer.session.timeout.ms": "50000"}, ["group.consumer.session.timeout.ms"]),
    ],
)
def test_what_a_group_refuses(asked: dict[str, str], refused: list[str]) -> None:
    alterations = [Alteration(name, SET, value) for name, value in asked.items()]
    if not refused:
        assert alter_group(config(), {}, alterations) == asked
        return
    with pytest.raises(ConfigError) as caught:
        alter_group(config(), {}, alterations)
    assert refusals(caught.value) == refused


@pytest.mark.parametrize("protocol", ["consumer", "share"])
def test_a_groups_heartbeat_must_be_below_its_session(protocol: str) -> None:
    limit = f"group_{protocol}_max_heartbeat_interval_ms"
    node = config(**{limit: "60000"})
    with pytest.raises(ConfigError, match=f"{protocol}.heartbeat.interval.ms = 45000: not below"):
        alter_group(node, {}, [Alteration(f"{protocol}.heartbeat.interval.ms", SET, "45000")])


def test_client_metrics() -> None:
    assert alter_client_metrics({}, setting(interval_ms="300000")) == {"interval.ms": "300000"}
    with pytest.raises(ConfigError, match="Clients cannot push their metrics here yet"):
        alter_client_metrics({}, setting(interval_ms="500"))
    with pytest.raises(ConfigError, match=r"interval\.ms = 5: below 100; valid: an int from 100 to 3600000"):
        alter_client_metrics({}, setting(interval_ms="5"))


@pytest.mark.parametrize(
    ("alteration", "cluster_wide", "reason"),
    [
        (Alteration("node.id", SET, "2"), False, "cannot be changed while the broker runs"),
        (Alteration("log.cleaner.threads", SET, "x"), False, "not a whole number"),
        (Alteration("log.cleaner.treads", SET, "1"), True, "did you mean log.cleaner.threads"),
        (Alteration("log.cleaner.threads", SET, "0"), True, "nobody would compact"),
        (Alteration("log.retention.ms", SET, "0"), False, "deleted at once"),
        (Alteration("group.consumer.assignment.interval.ms", SET, "99999"), True, "above group.consumer.max"),
        (Alteration("listeners", SET, "CONTROLLER://:1"), True, "for one broker at a time"),
    ],
)
def test_what_a_broker_refuses(alteration: Alteration, cluster_wide: bool, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        alter_broker(config(), {}, [alteration], cluster_wide=cluster_wide)
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_a_broker_accepts_what_its_whole_config_bears() -> None:
    node = config(log_cleaner_dedupe_buffer_size="3000000")
    assert alter_broker(node, {}, setting(log_cleaner_threads="2"), cluster_wide=True) == {"log.cleaner.threads": "2"}
    with pytest.raises(ConfigError, match="not enough for"):
        alter_broker(node, {}, setting(log_cleaner_threads="3"), cluster_wide=True)
    # This broker's own value hides the value for all brokers.
    own = apply_dynamic(node, {}, {"log.cleaner.threads": "1"}).config
    assert alter_broker(own, {}, setting(log_cleaner_threads="3"), cluster_wide=True) == {"log.cleaner.threads": "3"}


def test_a_broker_can_be_rid_of_what_it_does_not_know() -> None:
    current = {"from.the.future": "1", "max.connections": "5"}
    assert alter_broker(config(), current, [Alteration("from.the.future", DELETE)], cluster_wide=True) == {
        "max.connections": "5"
    }


def test_lists_of_brokers_and_of_their_listeners() -> None:
    name = "listener.name.plaintext.sasl.enabled.mechanisms"
    altered = alter_broker(config(), {name: "PLAIN,GSSAPI"}, [Alteration(name, SUBTRACT, "PLAIN")], cluster_wide=False)
    assert altered == {name: "GSSAPI"}


@pytest.mark.parametrize(
    ("name", "text", "cluster_wide", "reason"),
    [
        ("listener.name.plaintext.ssl.keystore.location", "/k", False, "TLS is not served yet"),
        ("listener.name.plaintext.max.connections", "5", True, "all listeners together"),
        ("max.connection.creation.rate", "5", True, "The rate is not limited yet"),
        ("sasl.enabled.mechanisms", "PLAIN", False, "SASL is not served yet"),
        ("listeners", "PLAINTEXT://:9095", False, "cannot be changed while the broker runs yet"),
        # A file with these would be refused as well, so "set it in server.properties" is no advice.
        ("super.users", "User:a", True, "There is no authorizer yet"),
        ("ssl.keystore.location", "/k", False, "TLS is not served yet"),
        ("listeners", "SSL://:9095,CONTROLLER://:9093", False, "listener SSL is to speak SSL, but only PLAINTEXT"),
        ("listeners", "SSL://:9095,CONTROLLER://:9093", True, "listener SSL is to speak SSL, but only PLAINTEXT"),
        ("listener.security.protocol.map", "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT", True, "PLAINTEXT is to speak SSL"),
    ],
)
def test_a_dynamic_change_that_asks_for_what_is_not_there_is_refused(
    name: str, text: str, cluster_wide: bool, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        alter_broker(config(), {}, [Alteration(name, SET, text)], cluster_wide=cluster_wide)
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    # A refused setting that is stored already prevents neither other changes nor its own deletion.
    other = [Alteration("log.cleaner.threads", SET, "2"), Alteration(name, DELETE)]
    assert alter_broker(config(), {name: text}, other[:1], cluster_wide=cluster_wide) == {
        name: text,
        "log.cleaner.threads": "2",
    }
    assert alter_broker(config(), {name: text}, other[1:], cluster_wide=cluster_wide) == {}


def test_of_very_many_unknown_settings_the_first_few_are_told() -> None:
    """Each suggestion takes time, and a request with a hundred thousand names must not hold up all others."""
    alterations = [Alteration(f"retention.mx{number}", AlterOp.SET, "1") for number in range(100_000)]
    with pytest.raises(ConfigError) as refused:
        alter_topic(config(), {}, alterations)
    assert len(refused.value.problems) == 10


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("log.retention.ms", "retention.ms"),
        ("log.retention.hours", "retention.ms"),
        ("log.cleanup.policy", "cleanup.policy"),
        ("retention.mss", "retention.ms"),
    ],
)
def test_a_brokers_name_of_a_topics_setting_is_understood(asked: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {re.escape(meant)}\\?"):
        alter_topic(config(), {}, [Alteration(asked, SET, "4")])


def test_a_topics_name_of_a_brokers_setting_is_understood() -> None:
    with pytest.raises(ConfigError, match=r"did you mean log\.retention\.ms\?"):
        alter_broker(config(), {}, setting(retention_ms="4"), cluster_wide=True)
