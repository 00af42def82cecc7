"""The declarations against Apache Kafka 4.3.1: data/apache_4_3_defaults.json holds what its ConfigDefs say (types,
defaults, limits, importance, how each may change; facts only). A setting may differ only where it says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from tidelog.config.catalogue import BROKER, CLIENT_METRICS, GROUP, SECTIONS, TOPIC
from tidelog.config.setting import InvalidValue, Scope, Setting

FACTS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "data/apache_4_3_defaults.json").read_text())
OURS: dict[str, dict[str, Setting[Any]]] = {
    "broker": BROKER,
    "topic": TOPIC,
    "group": GROUP,
    "client_metrics": CLIENT_METRICS,
}
KNOWN_HERE_ONLY = {
    "log.dir.reserved.bytes",
    "metrics.listener",
    "super.users",
    "allow.everyone.if.no.acl.found",
}
# Settings whose value, limits or visibility differ. Any other setting with `differs` differs in its effect.
OTHER_DEFAULT = {"listener.security.protocol.map"}
OTHER_LIMITS = {"interval.ms", "group.consumer.assignors", "group.share.assignors"}

ALL = [(kind, name) for kind in OURS for name in FACTS[kind]]


def accepts(setting: Setting[Any], text: str) -> bool:
    try:
        setting.parse(text)
    except InvalidValue:
        return False
    return True


def test_every_setting_of_apache_is_known_and_no_other() -> None:
    for kind, settings in OURS.items():
        assert set(FACTS[kind]) - set(settings) == set()
        assert set(settings) - set(FACTS[kind]) == (KNOWN_HERE_ONLY if kind == "broker" else set())
    assert all(BROKER[name].differs for name in KNOWN_HERE_ONLY)


@pytest.mark.parametrize("kind", OURS)
def test_types_defaults_and_scopes_are_apaches(kind: str) -> None:
    for name, facts in FACTS[kind].items():
        setting = OURS[kind][name]
        assert setting.kind.type.name == facts["type"], name
        assert setting.importance.name == facts["importance"], name
        assert setting.internal == facts.get("internal", False), name
        assert setting.required == facts.get("required", False), name
        if kind == "broker":
            assert setting.scope.value == facts["scope"], name
        if name in OTHER_DEFAULT:
            assert setting.differs
        elif not setting.required:
            assert setting.format(setting.default) == facts["default"], name


@pytest.mark.parametrize("kind", OURS)
def test_limits_are_apaches(kind: str) -> None:
    for name, facts in FACTS[kind].items():
        setting = OURS[kind][name]
        if name in OTHER_LIMITS:
            assert setting.differs
            continue
        if "min" in facts:
            assert accepts(setting, str(facts["min"])), name
            assert not accepts(setting, str(facts["min"] - 1)), name
        if "max" in facts:
            assert accepts(setting, str(facts["max"])), name
            assert not accepts(setting, str(facts["max"] + 1)), name
        if "values" in facts and setting.kind.type.name in ("STRING", "LIST"):
            assert not accepts(setting, "no-such-value"), name
            assert all(accepts(setting, value) for value in facts["values"] if ":" not in value), name


def test_defaults_are_valid_and_survive_being_written_down() -> None:
    for settings in OURS.values():
        for setting in settings.values():
            if not setting.required and setting.default is not None:
                setting.check(setting.default)
                text = setting.format(setting.default)
                assert text is not None
                assert setting.parse(text) == setting.default, setting.name


@pytest.mark.parametrize("kind", ["topic", "group"])
def test_synonyms_are_apaches(kind: str) -> None:
    ours = {
        name: [[each.setting.name, each.factor] for each in setting.synonyms] for name, setting in OURS[kind].items()
    }
    theirs = FACTS["synonyms"][kind]
    assert {name: synonyms for name, synonyms in ours.items() if synonyms} == {
        name: synonyms for name, synonyms in theirs.items() if synonyms
    }
    assert all(BROKER[each.setting.name] is each.setting for s in OURS[kind].values() for each in s.synonyms)


def test_families_name_each_other() -> None:
    families = {setting.name: setting.family for setting in BROKER.values() if setting.family}
    assert families == {
        "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
        "log.roll.hours": ("log.roll.ms", "log.roll.hours"),
        "log.roll.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        "log.roll.jitter.hours": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        "log.retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        "log.retention.minutes": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        "log.retention.hours": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    }


def test_every_declaration_is_complete() -> None:
    names = [(setting.scope in (Scope.TOPIC, Scope.GROUP), setting.name) for s in SECTIONS for setting in s.settings]
    assert len(names) == len(set(names))
    for section in SECTIONS:
        assert section.title
        assert section.intro
        assert section.settings
        for setting in section.settings:
            assert setting.doc.endswith("."), setting.name
            assert [setting.harmless, setting.refused].count("") >= 1, setting.name
            for text in filter(None, (setting.harmless, setting.refused, setting.differs)):
                assert text.endswith("."), setting.name


def test_secrets_are_sensitive() -> None:
    secret = {name for name, setting in BROKER.items() if setting.is_sensitive}
    assert {"ssl.key.password", "sasl.jaas.config", "delegation.token.secret.key", "ssl.keystore.key"} <= secret
    assert secret == {name for name, facts in FACTS["broker"].items() if facts["type"] == "PASSWORD"}
