"""The configuration of a running node: the file and the dynamic layers over it, resolved once, never changed.

A dynamic update makes a new one (`dynamic.py`), so that whoever holds a config sees one consistent set of values.
`get` is one dictionary lookup; what the data path reads at every request is `TopicConfig`, plain attributes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tidelog.config.catalogue import BROKER, GROUP, TOPIC, broker_setting, nearest
from tidelog.config.group_config import GroupConfig, resolve_group_config
from tidelog.config.layers import Layers
from tidelog.config.limit_rules import LIMIT_RULES
from tidelog.config.listener_plan import ListenerPlan, plan_listeners
from tidelog.config.listener_rules import LISTENER_RULES
from tidelog.config.node_rules import NODE_RULES
from tidelog.config.problems import Problem, bad_value, missing, shown
from tidelog.config.setting import InvalidValue, Setting, Support
from tidelog.config.settings import log
from tidelog.config.topic_config import TopicConfig, resolve_topic_config
from tidelog.config.unserved import NOT_FOR_ONE_LISTENER
from tidelog.config.values import resolve_values

V = TypeVar("V")

BROKER_RULES = (*NODE_RULES, *LISTENER_RULES, *LIMIT_RULES)


class BrokerConfig:
    """The configuration of one node. It is built from layers whose every value is valid; `load` and `dynamic` see to
    that."""

    __slots__ = ("_topic_defaults", "layers", "listener_plan", "values")

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self.values = resolve_values(BROKER, layers)
        self.listener_plan: ListenerPlan = plan_listeners(self.values)
        self._topic_defaults = resolve_topic_config({}, layers)

    def get(self, setting: Setting[V]) -> V:
        return self.values.get(setting)

    @property
    def log_dirs(self) -> tuple[str, ...]:
        return self.get(log.LOG_DIRS) or self.get(log.LOG_DIR)

    def topic_config(self, overrides: Mapping[str, str]) -> TopicConfig:
        """Return a topic's configuration. An override that cannot be used (an Apache controller may have stored one
        that we do not know) counts as not there: a broker must not stop over it. `unusable` says which those are."""
        return resolve_topic_config(usable(overrides, TOPIC), self.layers) if overrides else self._topic_defaults

    def group_config(self, overrides: Mapping[str, str]) -> GroupConfig:
        return resolve_group_config(usable(overrides, GROUP), self.values)

    def __repr__(self) -> str:
        return f"BrokerConfig({redacted(self.layers.static)})"


def redacted(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the settings as they may be logged: no secret, and no value of a setting that nobody knows."""
    return {name: shown(broker_setting(name), text) for name, text in texts.items()}


def unusable(overrides: Mapping[str, str], known: Mapping[str, Setting[Any]]) -> Iterator[Problem]:
    """Yield what is wrong with each single override: an unknown name, text that is no value, or a value that asks for
    what is not there. They come one by one, because a suggestion takes half a millisecond, and a client may name a
    hundred thousand."""
    problems = (_problem(name, text, known) for name, text in overrides.items())
    return (problem for problem in problems if problem)


def unknown_setting(name: str, known: Mapping[str, Setting[Any]]) -> Problem:
    close = nearest(name, known)
    return Problem(name, "unknown setting" + (f"; did you mean {close}?" if close else ""))


def usable(overrides: Mapping[str, str], known: Mapping[str, Setting[Any]]) -> dict[str, str]:
    """Return the overrides with which `unusable` finds nothing wrong."""
    return {name: text for name, text in overrides.items() if name in known and not _problem(name, text, known)}


def _problem(name: str, text: str, known: Mapping[str, Setting[Any]]) -> Problem | None:
    setting = known.get(name)
    if setting is None:
        return unknown_setting(name, known)
    try:
        value = setting.parse(text)
    except InvalidValue as error:
        return bad_value(setting, text, str(error))
    reason = setting.refusal(value)
    return missing(setting, name, text, reason) if reason else None


def refusal(setting: Setting[Any], value: Any, *, is_base: bool) -> str:
    """Say why a broker's setting is refused, for all listeners (`is_base`) or for one; "" where it is not."""
    if is_base or not setting.per_listener or setting.support is not Support.HONOURED:
        return setting.refusal(value)
    return NOT_FOR_ONE_LISTENER.format(name=setting.name)
