"""AlterConfigs and IncrementalAlterConfigs, as pure functions: the stored overrides of one resource and what is asked,
to the new overrides - or a ConfigError with everything that is wrong. Nothing is stored here, so to validate only is
to drop the result.

The older AlterConfigs replaces all overrides of a resource: it is a list of SETs upon nothing (`current={}`), except
that a topic's rules about what may follow what still need `stored`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import IntEnum
from itertools import islice
from typing import Any

from tidelog.config.broker_config import BrokerConfig, unknown_setting, unusable, usable
from tidelog.config.catalogue import BROKER, CLIENT_METRICS, GROUP, TOPIC, broker_setting
from tidelog.config.dynamic import (
    check_layers,
    dynamic_problem,
    refused_problem,
    unserved_listeners,
    unserved_problem,
    unusable_problem,
)
from tidelog.config.group_rules import group_fits_the_broker
from tidelog.config.kinds import ConfigType
from tidelog.config.problems import ConfigError, Problem
from tidelog.config.setting import Setting
from tidelog.config.topic_rules import compaction_lags_do_not_cross, remote_data_is_not_forgotten
from tidelog.model.errors import ErrorCode
from tidelog.model.lazy_dataclass import dataclass

Overrides = dict[str, str]
PROBLEMS_TOLD_MAX = 10


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
    """Return a topic's new overrides. `stored` is what the topic has now, when that is not `current`."""
    altered = _alter_checked(current, list(alterations), TOPIC)
    before = current if stored is None else stored
    _refuse(
        [
            *compaction_lags_do_not_cross(config.topic_config(altered)),
            *remote_data_is_not_forgotten(before, altered),
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
    """Return the new overrides of one dynamic layer: of the broker whose `config` this is, or (`cluster_wide`) of all
    brokers."""
    asked = list(alterations)
    altered = _alter(current, asked, BROKER)

    touched = {each.name: altered[each.name] for each in asked if each.name in altered}
    _refuse(problem for problem in (refused_problem(*each) for each in touched.items()) if problem)
    _refuse(unserved_listeners(config, touched))
    wrong = (dynamic_problem(name, text, cluster_wide=cluster_wide) for name, text in touched.items())
    _refuse((problem for problem in wrong if problem), ErrorCode.INVALID_REQUEST)
    _refuse(problem for problem in (unserved_problem(*each) for each in touched.items()) if problem)
    layer = {
        name: text for name, text in altered.items() if not unusable_problem(name, text, cluster_wide=cluster_wide)
    }
    changed = {"cluster": layer} if cluster_wide else {"broker": layer}
    _refuse(check_layers(replace(config.layers, **changed)), ErrorCode.INVALID_REQUEST)
    return altered


def _alter_checked(
    current: Mapping[str, str], alterations: list[Alteration], known: Mapping[str, Setting[Any]]
) -> Overrides:
    """Apply the alterations and check the settings that they name. Others are left as they are, even if we could not
    use them: they may be another version's."""
    altered = _alter(current, alterations, known)
    _refuse(unusable({each.name: altered[each.name] for each in alterations if each.name in altered}, known))
    return altered


def _alter(current: Mapping[str, str], alterations: list[Alteration], known: Mapping[str, Setting[Any]]) -> Overrides:
    _refuse(_malformed(alterations), ErrorCode.INVALID_REQUEST)
    _refuse(problem for each in alterations if (problem := _not_a_list(each, known)))
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
    # The list to alter is this resource's own override, or else the built-in default: other layers are not copied.
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
    counts = Counter(alteration.name for alteration in alterations)
    twice = [Problem(name, "there twice in one request") for name, count in counts.items() if count > 1]
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


def _refuse(problems: Iterable[Problem], code: ErrorCode = ErrorCode.INVALID_CONFIG) -> None:
    """Raise ConfigError with the first few problems, if there are any: to look for all of them could take longer than a
    turn may."""
    told = list(islice(problems, PROBLEMS_TOLD_MAX))
    if told:
        raise ConfigError(told, code)
