"""The effective configuration of topics and groups, and where each value comes from."""

import dataclasses

import pytest
from tests.unit.config.files import config

from tidelog.config import GroupConfig, TopicConfig, apply_dynamic
from tidelog.config.broker_config import unusable
from tidelog.config.catalogue import GROUP, TOPIC
from tidelog.config.layers import ConfigSource, Layers, resolve_override
from tidelog.config.setting import Support
from tidelog.config.settings import topic

HOUR_MS = 3_600_000
HONOURED_OF_TOPICS = [name for name, each in TOPIC.items() if each.support is Support.HONOURED]


def test_every_honoured_setting_has_an_attribute() -> None:
    for resolved, known in ((TopicConfig, TOPIC), (GroupConfig, GROUP)):
        honoured = [name.replace(".", "_") for name, each in known.items() if each.support is Support.HONOURED]
        assert [field.name for field in dataclasses.fields(resolved)] == honoured


def test_defaults_are_the_settings_own() -> None:
    resolved = config().topic_config({})
    for name in HONOURED_OF_TOPICS:
        assert getattr(resolved, name.replace(".", "_")) == TOPIC[name].default, name


@pytest.mark.parametrize("name", HONOURED_OF_TOPICS)
def test_every_attribute_reads_its_own_setting(name: str) -> None:
    """One override changes one attribute."""
    setting = TOPIC[name]
    others = {
        "cleanup.policy": "compact",
        "compression.type": "zstd",
        "message.timestamp.type": "LogAppendTime",
        "min.cleanable.dirty.ratio": "0.25",
        "leader.replication.throttled.replicas": "*",
        "follower.replication.throttled.replicas": "*",
        "max.compaction.lag.ms": "77",
        "message.timestamp.before.max.ms": "77",
        "flush.messages": "77",
        "flush.ms": "77",
        "internal.segment.bytes": "77",
        "compression.gzip.level": "7",
    }
    text = others.get(name) or {"true": "false", "false": "true"}.get(str(setting.default).lower())
    text = text or str(setting.default + 1)
    plain, changed = config().topic_config({}), config().topic_config({name: text})
    differing = [
        field.name
        for field in dataclasses.fields(TopicConfig)
        if getattr(plain, field.name) != getattr(changed, field.name)
    ]
    assert differing == [name.replace(".", "_")]


@pytest.mark.parametrize(
    ("layers", "value", "source", "name"),
    [
        (Layers(), 168 * HOUR_MS, ConfigSource.DEFAULT_CONFIG, "retention.ms"),
        (Layers({"log.retention.hours": "2"}), 2 * HOUR_MS, ConfigSource.STATIC_BROKER_CONFIG, "log.retention.hours"),
        (
            Layers({"log.retention.hours": "2", "log.retention.minutes": "3"}),
            180_000,
            ConfigSource.STATIC_BROKER_CONFIG,
            "log.retention.minutes",
        ),
        (
            Layers({"log.retention.ms": "4", "log.retention.minutes": "3"}),
            4,
            ConfigSource.STATIC_BROKER_CONFIG,
            "log.retention.ms",
        ),
        (
            Layers({"log.retention.ms": "4"}, {"log.retention.ms": "5"}),
            5,
            ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
            "log.retention.ms",
        ),
        (
            Layers({"log.retention.ms": "4"}, {"log.retention.ms": "5"}, {"log.retention.ms": "6"}),
            6,
            ConfigSource.DYNAMIC_BROKER_CONFIG,
            "log.retention.ms",
        ),
    ],
)
def test_a_value_comes_from_the_most_specific_layer(
    layers: Layers, value: int, source: ConfigSource, name: str
) -> None:
    resolved = resolve_override(topic.RETENTION_MS, {}, ConfigSource.DYNAMIC_TOPIC_CONFIG, layers)
    assert (resolved.value, resolved.source, resolved.name) == (value, source, name)
    overridden = resolve_override(topic.RETENTION_MS, {"retention.ms": "9"}, ConfigSource.DYNAMIC_TOPIC_CONFIG, layers)
    assert (overridden.value, overridden.source) == (9, ConfigSource.DYNAMIC_TOPIC_CONFIG)


def test_what_follows_from_several_settings() -> None:
    node = config(log_retention_ms="-5")
    assert node.topic_config({}).retention_ms == -1
    plain = node.topic_config({"retention.ms": "100", "retention.bytes": "200"})
    assert (plain.compacts, plain.deletes) == (False, True)
    compacted = node.topic_config({"cleanup.policy": "compact", "max.compaction.lag.ms": "50", "segment.ms": "90"})
    assert (compacted.compacts, compacted.deletes, compacted.segment_ms_max) == (True, False, 50)
    assert node.topic_config({"max.compaction.lag.ms": "50", "segment.ms": "90"}).segment_ms_max == 90
    assert node.topic_config({"segment.bytes": "2000000"}).segment_bytes_max == 2_000_000
    assert node.topic_config({"internal.segment.bytes": "10"}).segment_bytes_max == 10


def test_an_override_that_cannot_be_used_counts_as_not_there() -> None:
    overrides = {"retention.ms": "soon", "from.the.future": "1", "segment.ms": "5"}
    resolved = config().topic_config(overrides)
    assert (resolved.retention_ms, resolved.segment_ms) == (168 * HOUR_MS, 5)
    assert [problem.name for problem in unusable(overrides, TOPIC)] == ["retention.ms", "from.the.future"]


def test_topics_without_overrides_share_one_config() -> None:
    node = config()
    assert node.topic_config({}) is node.topic_config({})


def test_groups_fall_back_to_the_broker_and_stay_within_its_limits() -> None:
    node = apply_dynamic(config(), {"group.consumer.assignment.interval.ms": "7"}, {}).config
    assert node.group_config({}).consumer_assignment_interval_ms == 7
    resolved = node.group_config(
        {
            "consumer.session.timeout.ms": "999999",
            "consumer.heartbeat.interval.ms": "1",
            "consumer.assignment.interval.ms": "x",
        }
    )
    assert resolved.consumer_session_timeout_ms == 60_000
    assert resolved.consumer_heartbeat_interval_ms == 5_000
    assert resolved.consumer_assignment_interval_ms == 7


@pytest.mark.parametrize("name", [name for name, setting in GROUP.items() if setting.support is Support.HONOURED])
def test_every_group_attribute_reads_its_own_setting(name: str) -> None:
    others = {
        "share.auto.offset.reset": "earliest",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": "false",
    }
    text = others.get(name) or str(GROUP[name].default + 1)
    plain, changed = config().group_config({}), config().group_config({name: text})
    fields = [field.name for field in dataclasses.fields(GroupConfig)]
    assert [each for each in fields if getattr(plain, each) != getattr(changed, each)] == [name.replace(".", "_")]
