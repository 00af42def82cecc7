"""Where a value comes from. A setting is looked up in layers, the most specific first:

    topic or group override  >  this broker, dynamic  >  all brokers, dynamic  >  server.properties  >  default

Layers hold text, as the metadata log and the file do: DescribeConfigs shows what was set, not what we made of it.
Within a layer, the synonyms of a setting are tried in their order; a more specific layer wins over a better synonym.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Generic, TypeVar

from tidelog.config.setting import Setting
from tidelog.model.lazy_dataclass import dataclass, field

V = TypeVar("V")


class ConfigSource(IntEnum):
    """The number of a source in a DescribeConfigs response."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


@dataclass(slots=True, frozen=True)
class Layers:
    """The three layers of a broker. `static` is the file, `cluster` and `broker` come from the metadata log."""

    static: Mapping[str, str] = field(default_factory=dict)
    cluster: Mapping[str, str] = field(default_factory=dict)
    broker: Mapping[str, str] = field(default_factory=dict)

    def by_precedence(self) -> tuple[tuple[ConfigSource, Mapping[str, str]], ...]:
        return (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self.broker),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self.cluster),
            (ConfigSource.STATIC_BROKER_CONFIG, self.static),
        )

    def find(self, name: str) -> tuple[ConfigSource, str] | None:
        for source, layer in self.by_precedence():
            if name in layer:
                return source, layer[name]
        return None


@dataclass(slots=True, frozen=True)
class ResolvedValue(Generic[V]):
    """A value and why it is that one: the source, and the name under which it was set there."""

    value: V
    source: ConfigSource
    name: str


def resolve_broker(setting: Setting[V], layers: Layers) -> ResolvedValue[V]:
    found = layers.find(setting.name)
    if found is None:
        return ResolvedValue(setting.default, ConfigSource.DEFAULT_CONFIG, setting.name)
    return ResolvedValue(setting.parse(found[1]), found[0], setting.name)


def resolve_override(
    setting: Setting[V], overrides: Mapping[str, str], source: ConfigSource, layers: Layers
) -> ResolvedValue[V]:
    """Return the value of a topic's or group's setting: its own override, or the broker settings that stand in for
    it."""
    if setting.name in overrides:
        return ResolvedValue(setting.parse(overrides[setting.name]), source, setting.name)
    for layer_source, layer in layers.by_precedence():
        for synonym in setting.synonyms:
            if synonym.setting.name in layer:
                value = convert(synonym.setting.parse(layer[synonym.setting.name]), synonym.factor)
                return ResolvedValue(value, layer_source, synonym.setting.name)
    return ResolvedValue(setting.default, ConfigSource.DEFAULT_CONFIG, setting.name)


def convert(value: Any, factor: int) -> Any:
    return value if factor == 1 else value * factor
