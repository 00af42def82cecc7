"""Dynamic broker settings: which may change, on which level, and what happens to stored ones that can not be used."""

import pytest
from tests.unit.config.files import config

from tidelog.config import apply_dynamic
from tidelog.config.catalogue import BROKER, base_of
from tidelog.config.dynamic import ONLY_FOR_A_LISTENER, dynamic_problem
from tidelog.config.setting import Scope
from tidelog.config.settings import cleaner, groups, listeners, log


@pytest.mark.parametrize(
    ("name", "text", "of_one", "of_all"),
    [
        ("log.cleaner.threads", "2", "", ""),
        ("message.max.bytes", "5000", "", ""),
        ("leader.replication.throttled.rate", "5", "", ""),
        ("node.id", "2", "cannot be changed while the broker runs", "cannot be changed while the broker runs"),
        ("log.retention.hours", "2", "cannot be changed while", "cannot be changed while"),
        ("ssl.keystore.location", "/k", "for one listener only", "for one listener only"),
        ("listener.name.internal.ssl.keystore.location", "/k", "", "for one broker at a time"),
        ("listener.name.internal.scram-sha-256.sasl.jaas.config", "x", "", "for one broker at a time"),
        ("listener.name.internal.max.connections", "5", "", ""),
        ("listener.name.internal.log.segment.bytes", "2000000", "cannot be set for one listener", "cannot be set for"),
        ("listeners", "PLAINTEXT://:9092", "", "for one broker at a time"),
        ("cordoned.log.dirs", "/x", "", "for one broker at a time"),
        ("log.cleaner.threads", "two", "not a whole number", "not a whole number"),
        ("log.cleaner.thread", "2", "did you mean log.cleaner.threads?", "did you mean log.cleaner.threads?"),
        ("listener.name.internal.max.connections", "-5", "below 0", "below 0"),
    ],
)
def test_what_may_change(name: str, text: str, of_one: str, of_all: str) -> None:
    for cluster_wide, expected in ((False, of_one), (True, of_all)):
        problem = dynamic_problem(name, text, cluster_wide=cluster_wide)
        assert (problem is None) == (not expected)
        assert expected in (problem.reason if problem else "")


def test_scopes_decide() -> None:
    for setting in BROKER.values():
        if (
            setting.validator
            or setting in ONLY_FOR_A_LISTENER
            or setting.kind.type.name not in ("INT", "LONG", "STRING")
        ):
            continue
        of_one = dynamic_problem(setting.name, "5", cluster_wide=False) is None
        of_all = dynamic_problem(setting.name, "5", cluster_wide=True) is None
        assert of_one == (setting.scope is not Scope.READ_ONLY), setting.name
        assert of_all == (setting.scope is Scope.CLUSTER_WIDE), setting.name


def test_a_bad_secret_is_not_shown() -> None:
    problem = dynamic_problem("node.id.secret", "hunter2", cluster_wide=False)
    assert "hunter2" not in str(problem)


def test_layers_replace_those_before_and_the_old_config_stays_as_it_was() -> None:
    before = config()
    first = apply_dynamic(before, {"log.cleaner.threads": "2"}, {"log.cleaner.threads": "3"}).config
    second = apply_dynamic(first, {"log.cleaner.threads": "2"}, {}).config
    third = apply_dynamic(second, {}, {}).config
    threads = [each.get(cleaner.LOG_CLEANER_THREADS) for each in (before, first, second, third)]
    assert threads == [1, 3, 2, 1]


def test_topics_see_a_brokers_new_defaults() -> None:
    node = apply_dynamic(config(log_retention_hours="1"), {"log.retention.ms": "77"}, {}).config
    assert node.topic_config({}).retention_ms == 77
    assert node.topic_config({"segment.ms": "5"}).retention_ms == 77


def test_what_cannot_be_used_is_left_out_and_reported() -> None:
    cluster = {"log.cleaner.threads": "x", "max.connections": "5", "listeners": "A://:1"}
    applied = apply_dynamic(config(), cluster, {"from.the.future": "1", "node.id": "9"})
    names = ["log.cleaner.threads", "listeners", "from.the.future", "node.id"]
    assert [problem.name for problem in applied.problems] == names
    assert applied.config.get(listeners.MAX_CONNECTIONS) == 5
    assert applied.config.get(cleaner.LOG_CLEANER_THREADS) == 1


def test_layers_that_break_a_rule_leave_the_node_with_what_it_had() -> None:
    node = apply_dynamic(config(), {"log.segment.bytes": "2000000"}, {}).config
    applied = apply_dynamic(node, {"log.segment.bytes": "3000000", "log.retention.ms": "0"}, {})
    assert [problem.name for problem in applied.problems] == ["log.retention.ms"]
    assert applied.config is node
    assert node.get(log.LOG_SEGMENT_BYTES) == 2_000_000


def test_a_stored_interval_outside_todays_limits_counts_as_the_limit() -> None:
    name = groups.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS.name
    applied = apply_dynamic(config(), {name: "99999"}, {})
    assert applied.problems == ()
    assert applied.config.get(groups.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS) == 15_000


def test_the_base_of_a_listeners_setting() -> None:
    assert base_of("listener.name.a.ssl.key.password") == "ssl.key.password"
    assert base_of("listener.name.a.plain.sasl.jaas.config") == "sasl.jaas.config"
    assert base_of("ssl.key.password") is None


def test_a_stored_setting_that_is_refused_is_left_out_and_does_not_keep_the_node_down() -> None:
    broker = {
        "listener.name.plaintext.ssl.keystore.location": "/keys",
        "listeners": "SASL_SSL://:9092",
        "log.cleaner.threads": "3",
    }
    applied = apply_dynamic(config(), {"max.connection.creation.rate": "7"}, broker)
    assert applied.config.get(cleaner.LOG_CLEANER_THREADS) == 3
    assert applied.config.get(listeners.MAX_CONNECTION_CREATION_RATE) == listeners.MAX_CONNECTION_CREATION_RATE.default
    assert applied.config.get(listeners.LISTENERS) == config().get(listeners.LISTENERS)
    assert [problem.name for problem in applied.problems] == [
        "max.connection.creation.rate",
        "listener.name.plaintext.ssl.keystore.location",
        "listeners",
    ]
    assert "TLS is not served yet" in str(applied.problems[1])
