"""DescribeConfigs against Apache Kafka 4.3.1: data/apache_4_3_describe.json holds what its broker answers for the
layers in it (value, read_only, source, is_sensitive, type, synonyms)."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.config.files import config

from tidelog.config import (
    BrokerConfig,
    ConfigEntry,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_topic,
)
from tidelog.config.catalogue import BROKER
from tidelog.config.layers import Layers

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "data/apache_4_3_describe.json").read_text())
LAYERS = GOLDEN["layers"]

# Apache forgets the static log.retention.hours and .minutes once log.retention.ms is set dynamically, though it still
# names them as the source. That would send an operator to the wrong place.
OURS_INSTEAD = {
    "log.retention.hours": (0, "24"),
    "log.retention.minutes": (0, "90"),
}


@pytest.fixture(scope="module")
def node() -> BrokerConfig:
    """Return a configuration that was not validated: some of the settings would be refused, and describing them is the
    same for all."""
    static = {**LAYERS["static"], "broker.id": LAYERS["static"]["node.id"]}
    return BrokerConfig(Layers(static, LAYERS["cluster"], LAYERS["broker"]))


def describe(node: BrokerConfig, resource: str) -> dict[str, list[Any]]:
    entries: list[ConfigEntry] = {
        "broker": lambda: describe_broker(node),
        "cluster": lambda: describe_cluster(node),
        "topic": lambda: describe_topic(node, LAYERS["topic"]),
        "group": lambda: describe_group(node, LAYERS["group"]),
        "client_metrics": lambda: describe_client_metrics(node, {}),
    }[resource]()
    return {entry.name: flat(entry) for entry in entries}


def flat(entry: ConfigEntry) -> list[Any]:
    synonyms = [[each.name, each.value, int(each.source)] for each in entry.synonyms]
    return [entry.value, entry.read_only, int(entry.source), entry.is_sensitive, int(entry.type), synonyms]


@pytest.mark.parametrize("resource", GOLDEN["entries"])
def test_answers_are_apaches(node: BrokerConfig, resource: str) -> None:
    ours = describe(node, resource)
    for name, theirs in GOLDEN["entries"][resource].items():
        expected = list(theirs)
        if name in OURS_INSTEAD:
            index, value = OURS_INSTEAD[name]
            expected[index] = value
            expected[2] = expected[5][0][2]
        assert ours[name] == expected, name
    if resource != "broker":
        assert sorted(ours) == GOLDEN["names"][resource]


def test_a_broker_describes_everything_that_is_not_internal_and_all_that_was_set(node: BrokerConfig) -> None:
    names = [entry.name for entry in describe_broker(node)]
    assert names == sorted(set(names))
    hidden = {name for name, setting in BROKER.items() if setting.internal or setting.dynamic_only}
    was_set = {*LAYERS["static"], *LAYERS["cluster"], *LAYERS["broker"]}
    assert set(names) == (set(BROKER) - hidden) | was_set | {"broker.id"}


def test_only_the_names_asked_for_are_described(node: BrokerConfig) -> None:
    assert [entry.name for entry in describe_broker(node, ["node.id", "no.such"])] == ["node.id"]
    assert [entry.name for entry in describe_topic(node, {}, ["segment.ms", "flush.ms"])] == ["flush.ms", "segment.ms"]
    assert len(describe_group(node, {}, [])) == 17  # an empty list asks for all


def test_a_value_set_to_its_default_is_not_a_default() -> None:
    (entry,) = describe_topic(config(), {"retention.ms": "604800000"}, ["retention.ms"])
    assert entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert not entry.is_default
    assert entry.type is ConfigType.LONG
    assert entry.documentation == "Segments older than this are deleted. -1: never because of age."
    assert describe_topic(config(), {}, ["retention.ms"])[0].is_default


def test_no_secret_is_described(node: BrokerConfig) -> None:
    for entry in describe_broker(node):
        if entry.is_sensitive:
            assert entry.value is None
            assert [synonym.value for synonym in entry.synonyms] == [None] * len(entry.synonyms)
    assert {"custom.thing", "ssl.key.password", "listener.name.plaintext.ssl.keystore.password"} <= {
        entry.name for entry in describe_broker(node) if entry.is_sensitive
    }


def test_an_internal_setting_is_described_only_when_set() -> None:
    assert describe_topic(config(), {}, ["internal.segment.bytes"]) == []
    (entry,) = describe_topic(config(), {"internal.segment.bytes": "5"}, ["internal.segment.bytes"])
    assert entry.value == "5"


def test_an_override_that_is_not_used_is_not_shown_as_if_it_were() -> None:
    (entry,) = describe_topic(config(), {"retention.ms": "soon"}, ["retention.ms"])
    assert (entry.value, entry.source) == ("604800000", ConfigSource.DEFAULT_CONFIG)


def test_client_metrics_say_what_was_set() -> None:
    source = ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG
    (entry,) = describe_client_metrics(config(), {"interval.ms": "300000"}, ["interval.ms"])
    assert entry.synonyms == (ConfigSynonym("interval.ms", "300000", source),)
    assert (entry.value, entry.source) == ("300000", source)


def test_a_stored_setting_that_is_refused_is_not_shown_as_if_it_worked() -> None:
    (entry,) = describe_topic(config(), {"remote.storage.enable": "true"}, ["remote.storage.enable"])
    assert (entry.value, entry.source) == ("false", ConfigSource.DEFAULT_CONFIG)
