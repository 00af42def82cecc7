"""AlterConfigs and IncrementalAlterConfigs, as pure functions: the stored overrides of one resource and what is asked,
to the new overrides - or a ConfigError with everything that is wrong. Nothing is stored here, so to validate only is
to drop the result.

The older AlterConfigs replaces all overrides of a resource: it is a list of SETs upon nothing (`current={}`), except
that a topic's rules about what may follow what still need `stored`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from tidelog.config.broker_config import BrokerConfig, unknown_setting, unusable, usable
from tidelog.config.catalogue import BROKER, CLIENT_METRICS, GROUP, TOPIC, broker_setting
from tidelog.config.dynamic import check_layers, dynamic_problem
from tidelog.config.group_rules import group_fits_the_broker
from tidelog.config.kinds import ConfigType
from tidelog.config.problems import ConfigError, Problem
from tidelog.config.setting import Setting
from tidelog.config.settings import tiered
from tidelog.config.topic_rules import (
    compaction_lags_do_not_cross,
    remote_data_is_not_forgotten,
    remote_storage_is_possible,
)
from tidelog.model.errors import ErrorCode

Overrides = dict[str, str]


class AlterOp(IntEnum):
    """The number of an operation in an IncrementalAlterConfigs request."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(slots=True, frozen=True)
class Alteration:
    name: str
    op: AlterOp
    value: str | None = None


def alter_topic(
    config: BrokerConfig,
    current: Mapping[str, str],
    alterations: Iterable[Alteration],
    stored: Mapping[str, str] | None = None,
) -> Overrides:
    """`stored` is what the topic has now, when that is not `current`."""
    altered = _alter_checked(current, list(alterations), TOPIC)
    before, after = config.topic_config(current if stored is None else stored), config.topic_config(altered)
    system_enabled = config.get(tiered.REMOTE_LOG_STORAGE_SYSTEM_ENABLE)
    _refuse(
        [
            *compaction_lags_do_not_cross(after),
            *remote_storage_is_possible(after, system_enabled),
            *remote_data_is_not_forgotten(before, after),
        ]
    )
    return altered


def alter_group(config: BrokerConfig, current: Mapping[str, str], alterations: Iterable[Alteration]) -> Overrides:
    altered = _alter_checked(current, list(alterations), GROUP)
    _refuse(list(group_fits_the_broker(usable(altered, GROUP), config.values)))
    return altered


def alter_client_metrics(current: Mapping[str, str], alterations: Iterable[Alteration]) -> Overrides:
    return _alter_checked(current, list(alterations), CLIENT_METRICS)


def alter_broker(
    config: BrokerConfig, current: Mapping[str, str], alterations: Iterable[Alteration], *, cluster_wide: bool
) -> Overrides:
    """One dynamic layer of brokers: of the one whose `config` this is, or (`cluster_wide`) of all of them."""
    asked = list(alterations)
    altered = _alter(current, asked, BROKER)

    def problem(name: str) -> Problem | None:
        return dynamic_problem(name, altered[name], cluster_wide=cluster_wide)

    touched = dict.fromkeys(each.name for each in asked if each.name in altered)
    _refuse([found for name in touched if (found := problem(name))], ErrorCode.INVALID_REQUEST)
    layer = {name: text for name, text in altered.items() if not problem(name)}
    changed = {"cluster": layer} if cluster_wide else {"broker": layer}
    _refuse(check_layers(replace(config.layers, **changed)), ErrorCode.INVALID_REQUEST)
    return altered


def _alter_checked(
    current: Mapping[str, str], alterations: list[Alteration], known: Mapping[str, Setting[Any]]
) -> Overrides:
    """What was not asked about is left as it is, even if we could not use it: it may be another version's."""
    altered = _alter(current, alterations, known)
    _refuse(unusable({each.name: altered[each.name] for each in alterations if each.name in altered}, known))
    return altered


def _alter(current: Mapping[str, str], alterations: list[Alteration], known: Mapping[str, Setting[Any]]) -> Overrides:
    _refuse(_malformed(alterations), ErrorCode.INVALID_REQUEST)
    _refuse([problem for each in alterations if (problem := _not_a_list(each, known))])
    altered = dict(current)
    for alteration in alterations:
        if alteration.op is AlterOp.DELETE:
            altered.pop(alteration.name, None)
        else:
            altered[alteration.name] = _new_text(altered.get(alteration.name), alteration, known)
    return altered


def _new_text(current: str | None, alteration: Alteration, known: Mapping[str, Setting[Any]]) -> str:
    asked = alteration.value or ""
    if alteration.op is AlterOp.SET:
        return asked
    # Only this resource's own override counts, then the built-in default: what another layer says is not copied.
    setting = _find(alteration.name, known)
    before = current if current is not None else setting.format(setting.default) if setting else ""
    entries = [entry for entry in (before or "").split(",") if entry]
    for entry in asked.split(","):
        if alteration.op is AlterOp.APPEND and entry not in entries:
            entries.append(entry)
        elif alteration.op is AlterOp.SUBTRACT and entry in entries:
            entries.remove(entry)
    return ",".join(entries)


def _malformed(alterations: list[Alteration]) -> list[Problem]:
    names = [alteration.name for alteration in alterations]
    twice = [Problem(name, "there twice in one request") for name in dict.fromkeys(names) if names.count(name) > 1]
    valueless = [each.name for each in alterations if each.op is not AlterOp.DELETE and each.value is None]
    return twice + [Problem(name, "no value was given") for name in valueless]


def _not_a_list(alteration: Alteration, known: Mapping[str, Setting[Any]]) -> Problem | None:
    if alteration.op not in (AlterOp.APPEND, AlterOp.SUBTRACT):
        return None
    setting = _find(alteration.name, known)
    if setting is None:
        return unknown_setting(alteration.name, known)
    if setting.kind.type is not ConfigType.LIST:
        return Problem(alteration.name, f"not a list, so nothing can be {_PARTICIPLES[alteration.op]}")
    return None


_PARTICIPLES = {AlterOp.APPEND: "appended", AlterOp.SUBTRACT: "taken away"}


def _find(name: str, known: Mapping[str, Setting[Any]]) -> Setting[Any] | None:
    return broker_setting(name) if known is BROKER else known.get(name)


def _refuse(problems: list[Problem], code: ErrorCode = ErrorCode.INVALID_CONFIG) -> None:
    if problems:
        raise ConfigError(problems, code)
