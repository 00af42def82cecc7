"""The support of each setting, checked against the code: an honoured setting is read by code that acts on it, a
harmless or refused one by none.

The readers of a setting are found in the source: by its constant (`groups.OFFSETS_RETENTION_MINUTES`, whatever the
module is called where it is imported), or for a topic's or group's setting by its attribute of TopicConfig or
GroupConfig. Reading in `tidelog.config` itself does not count, except through the doors below, which hand values to the
outside.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.config.files import COMBINED, load

import tidelog
from tidelog.config import ConfigError, catalogue
from tidelog.config.catalogue import BROKER, CLIENT_METRICS, GROUP, SECTIONS, TOPIC
from tidelog.config.group_config import LIMITS
from tidelog.config.setting import Setting, Support
from tidelog.config.settings import groups, listeners, log, node, quorum
from tidelog.config.table import Table

SOURCE = Path(tidelog.__file__).parent
PACKAGE = "tidelog.config.settings"
ALL = [setting for section in SECTIONS for setting in section.settings]
# TopicConfig and GroupConfig properties that stand for settings.
PROPERTIES = {
    "compacts": "cleanup.policy",
    "deletes": "cleanup.policy",
    "segment_bytes_max": "internal.segment.bytes",
    "segment_ms_max": "segment.ms",
}
# The names by which code outside reads values that `tidelog.config` hands out under another name than the setting's.
DOORS: dict[str, tuple[Setting[Any], ...]] = {
    "log_dirs": (log.LOG_DIRS, log.LOG_DIR),
    "listener_plan": (
        node.PROCESS_ROLES,
        quorum.CONTROLLER_LISTENER_NAMES,
        listeners.LISTENERS,
        listeners.ADVERTISED_LISTENERS,
        listeners.LISTENER_SECURITY_PROTOCOL_MAP,
        listeners.INTER_BROKER_LISTENER_NAME,
        listeners.SECURITY_INTER_BROKER_PROTOCOL,
    ),
}
# Acted on while the file is read: `broker.id` stands for `node.id`, and a node without voters must name these servers.
ACTED_ON_AT_LOAD = (node.BROKER_ID, quorum.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS)


def outside() -> Iterator[ast.Module]:
    for path in sorted(SOURCE.rglob("*.py")):
        if path.relative_to(SOURCE).parts[0] != "config":
            yield ast.parse(path.read_text())


def constants_read(tree: ast.Module) -> set[tuple[str, str]]:
    """Return the (module of `settings`, constant) pairs that a module mentions, outside of its imports."""
    modules: dict[str, str] = {}
    direct: dict[str, tuple[str, str]] = {}
    for statement in ast.walk(tree):
        if isinstance(statement, ast.ImportFrom) and statement.module == PACKAGE:
            modules |= {each.asname or each.name: each.name for each in statement.names}
        elif isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(f"{PACKAGE}."):
            of = (statement.module or "").rpartition(".")[2]
            direct |= {each.asname or each.name: (of, each.name) for each in statement.names}
    found: set[tuple[str, str]] = set()
    for part in ast.walk(tree):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id in modules:
            found.add((modules[part.value.id], part.attr))
        elif isinstance(part, ast.Name) and part.id in direct:
            found.add(direct[part.id])
    return found


def find_readers() -> tuple[set[tuple[str, str]], set[str]]:
    constants: set[tuple[str, str]] = set()
    attributes: set[str] = set()
    for tree in outside():
        constants |= constants_read(tree)
        attributes |= {part.attr for part in ast.walk(tree) if isinstance(part, ast.Attribute)}
    return constants, attributes


CONSTANTS, ATTRIBUTES = find_readers()


def declared() -> dict[tuple[str, str], Setting[Any]]:
    return {
        (name, constant): value
        for name, module in vars(catalogue).items()
        if getattr(module, "__package__", "") == PACKAGE
        for constant, value in vars(module).items()
        if isinstance(value, Setting)
    }


def read_settings() -> set[int]:
    """Return the ids of the settings that are read: by name, through a door, or as the fallback of a topic or group."""
    by_constant = declared()
    found = {id(by_constant[each]) for each in CONSTANTS}
    found |= {id(each) for name, settings in DOORS.items() if name in ATTRIBUTES for each in settings}
    for known in (TOPIC, GROUP):
        for name, setting in known.items():
            names = [name.replace(".", "_"), *(alias for alias, stands_for in PROPERTIES.items() if stands_for == name)]
            if any(each in ATTRIBUTES for each in names):
                found.add(id(setting))
                found |= {id(synonym.setting) for synonym in setting.synonyms}
    for setting, low, high in LIMITS:
        if id(setting) in found:
            found |= {id(low), id(high)}
    return found


READ = read_settings()


def tables() -> list[Table]:
    modules = [module for module in vars(catalogue).values() if getattr(module, "__package__", "") == PACKAGE]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Table)]


def test_all_settings_are_looked_at() -> None:
    rows = [row for each in tables() for row in each.settings]
    assert len(ALL) == len(declared()) + len(rows) == 421
    assert {id(each) for each in ALL} == {id(each) for each in (*declared().values(), *rows)}


@pytest.mark.parametrize("row", [row for each in tables() for row in each.settings], ids=repr)
def test_a_row_of_a_table_is_not_honoured(row: Setting[Any]) -> None:
    """A setting that the node acts on is a constant with a full declaration of its own."""
    assert row.support is not Support.HONOURED


def test_a_setting_that_nothing_names_is_a_row() -> None:
    sources = {path: path.read_text() for path in SOURCE.rglob("*.py")}
    for (module, constant), setting in declared().items():
        if setting.support is not Support.HONOURED:
            own = SOURCE / f"config/settings/{module}.py"
            is_named = any(re.search(rf"\b{constant}\b", text) for path, text in sources.items() if path != own)
            assert is_named, f"{constant} of {module} is named nowhere else: make it a row of a table"


@pytest.mark.parametrize("setting", [each for each in ALL if each.support is Support.HONOURED], ids=repr)
def test_an_honoured_setting_is_read(setting: Setting[Any]) -> None:
    assert id(setting) in READ or setting in ACTED_ON_AT_LOAD


@pytest.mark.parametrize("setting", [each for each in ALL if each.support is not Support.HONOURED], ids=repr)
def test_no_other_setting_is_read(setting: Setting[Any]) -> None:
    assert id(setting) not in READ


# A value of each refused setting that would take effect.
OTHERS = {
    "config.providers": "file",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.oauthbearer.assertion.algorithm": "ES256",
    "ssl.client.auth": "required",
    "super.users": "User:admin",
}


def asking(setting: Setting[Any]) -> str:
    if setting.name in OTHERS:
        return OTHERS[setting.name]
    if isinstance(setting.default, bool):
        return str(not setting.default).lower()
    if isinstance(setting.default, int):
        return str(setting.default - 1 or 2)
    return "0.5" if isinstance(setting.default, float) else "7" if setting.kind.label.startswith("an int") else "x"


REFUSED = [each for each in BROKER.values() if each.support is Support.REFUSED]


@pytest.mark.parametrize("setting", [each for each in REFUSED if not each.dynamic_only], ids=repr)
def test_a_refused_setting_keeps_the_node_from_starting_and_says_what_to_do(setting: Setting[Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        load(COMBINED, {setting.name: asking(setting)})
    (problem,) = caught.value.problems
    assert problem.name == setting.name
    assert problem.reason == setting.refused.removesuffix(".")
    assert "." in problem.reason  # one sentence says what is missing, a second what to do


@pytest.mark.parametrize("setting", [each for each in REFUSED if not each.dynamic_only], ids=repr)
def test_the_default_of_a_refused_setting_is_accepted_and_so_is_nothing(setting: Setting[Any]) -> None:
    text = "" if setting.default is None else setting.format(setting.default) or ""
    try:
        setting.parse(text)
    except ValueError:
        return  # it has no default, and an empty text is not a value of it
    load(COMBINED, {setting.name: text})


@pytest.mark.parametrize("known", [TOPIC, GROUP, CLIENT_METRICS])
def test_protection_is_never_harmless(known: dict[str, Setting[Any]]) -> None:
    """Settings whose names promise security, limits or another store are refused, or only tune what is refused
    elsewhere."""
    promising = ("ssl.", "sasl.", "authorizer", "super.users", "token", "client.quota", "policy.class")
    for setting in [*BROKER.values(), *known.values()]:
        if any(word in setting.name for word in promising):
            assert setting.support is Support.REFUSED, setting.name


@pytest.mark.parametrize(
    ("changes", "names", "reason"),
    [
        ({"listeners": "SASL_SSL://:9092,CONTROLLER://:9093"}, ["controller.listener.names", "listeners"], "SASL_SSL"),
        (
            {"listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT"},
            ["listeners"],
            "listener PLAINTEXT is to speak SSL, but only PLAINTEXT is served yet",
        ),
        (
            {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"},
            ["listeners"],
            "listener CONTROLLER is to speak SASL_PLAINTEXT",
        ),
        ({"group.coordinator.rebalance.protocols": "classic,share"}, None, "share groups are not served"),
        ({"listener.name.plaintext.max.connections": "5"}, None, "set max.connections without the prefix"),
        ({"listener.name.plaintext.ssl.client.auth": "required"}, None, "TLS is not served yet"),
    ],
)
def test_what_only_some_values_ask_for_is_refused(
    changes: dict[str, str], names: list[str] | None, reason: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(COMBINED | {"advertised.listeners": "PLAINTEXT://localhost:9092"}, changes)
    assert {problem.name for problem in caught.value.problems} & set(names or changes)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"allow.everyone.if.no.acl.found": "true"},
        {"allow.everyone.if.no.acl.found": "false"},
        {"super.users": "", "authorizer.class.name": ""},
        {"remote.log.storage.system.enable": "false"},
        {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL"},
        {groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS.name: "classic,consumer,streams"},
        {"ssl.endpoint.identification.algorithm": ""},
    ],
)
def test_what_asks_for_nothing_is_accepted(changes: dict[str, str]) -> None:
    load(COMBINED, changes)


def test_no_setting_of_share_groups_is_said_to_be_honoured() -> None:
    names = [name for name in (*BROKER, *GROUP) if "share" in name.split(".")]
    assert len(names) > 30
    assert [name for name in names if (BROKER | GROUP)[name].support is Support.HONOURED] == []
