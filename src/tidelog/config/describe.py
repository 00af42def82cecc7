"""DescribeConfigs, as plain values: what each setting is, where it comes from, and everything that stands behind it.

Synonyms are listed layer by layer, as Kafka does, and begin at the setting itself. A secret is described by null; so is
a setting that nobody knows, which may be a secret.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.config.broker_config import BrokerConfig, usable
from tidelog.config.catalogue import BROKER, CLIENT_METRICS, GROUP, TOPIC, base_of, broker_setting
from tidelog.config.kinds import ConfigType
from tidelog.config.layers import ConfigSource, Layers, resolve_override
from tidelog.config.setting import Scope, Setting
from tidelog.model.lazy_dataclass import dataclass


@dataclass(slots=True, frozen=True)
class ConfigSynonym:
    name: str
    value: str | None
    source: ConfigSource


@dataclass(slots=True, frozen=True)
class ConfigEntry:
    name: str
    value: str | None
    read_only: bool
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: ConfigType
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


def describe_broker(config: BrokerConfig, names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Return every setting of a broker that is not internal, and whatever else somebody set; or those of `names`."""
    shown = dict.fromkeys(name for name, setting in BROKER.items() if not setting.internal and not setting.dynamic_only)
    for _, layer in config.layers.by_precedence():
        shown |= dict.fromkeys(layer)
    return [_broker_entry(config, name) for name in _chosen(shown, names)]


def describe_cluster(config: BrokerConfig, names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Return the settings that were set for all brokers."""
    entries = []
    for name in _chosen(config.layers.cluster, names):
        setting = broker_setting(name)
        only_cluster = Layers(cluster=config.layers.cluster)
        synonyms = _layer_synonyms(_names(name, setting), setting, only_cluster)
        entries.append(
            _entry(name, setting, _shown(setting, config.layers.cluster[name]), synonyms, _is_read_only(name))
        )
    return entries


def describe_topic(
    config: BrokerConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    return _describe_overridden(config, TOPIC, overrides, ConfigSource.DYNAMIC_TOPIC_CONFIG, names)


def describe_group(
    config: BrokerConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    return _describe_overridden(config, GROUP, overrides, ConfigSource.DYNAMIC_GROUP_CONFIG, names)


def describe_client_metrics(
    config: BrokerConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> list[ConfigEntry]:
    return _describe_overridden(config, CLIENT_METRICS, overrides, ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG, names)


def _broker_entry(config: BrokerConfig, name: str) -> ConfigEntry:
    setting = broker_setting(name)
    found = config.layers.find(name)
    text = found[1] if found else None
    if setting and text is not None:
        text = _normal(setting, text)
    elif setting:
        text = setting.format(config.get(setting))
    synonyms = _layer_synonyms(_names(name, setting), setting, config.layers)
    if setting:
        synonyms += _default_synonyms(_names(name, setting))
    return _entry(name, setting, _shown(setting, text), _beginning_at(name, synonyms), _is_read_only(name))


def _describe_overridden(
    config: BrokerConfig,
    known: Mapping[str, Setting[Any]],
    overrides: Mapping[str, str],
    source: ConfigSource,
    names: Iterable[str] | None,
) -> list[ConfigEntry]:
    visible = [name for name, setting in known.items() if not setting.internal or name in overrides]
    return [_overridden_entry(config, known[name], overrides, source) for name in _chosen(visible, names)]


def _overridden_entry(
    config: BrokerConfig, setting: Setting[Any], overrides: Mapping[str, str], source: ConfigSource
) -> ConfigEntry:
    # An override that another release stored, and that is not valid or not supported here, is not used. So it is not
    # shown either.
    resolved = resolve_override(setting, usable(overrides, {setting.name: setting}), source, config.layers)
    text = setting.format(resolved.value)
    synonyms: tuple[ConfigSynonym, ...] = ()
    if resolved.source is source:
        synonyms = (ConfigSynonym(setting.name, text, source),)
    for synonym in setting.synonyms[:1]:
        family = _names(synonym.setting.name, synonym.setting)
        found = _layer_synonyms(family, synonym.setting, config.layers) + _default_synonyms(family)
        synonyms += _beginning_at(synonym.setting.name, found)
    if not setting.synonyms and setting.scope is Scope.GROUP:
        synonyms += (ConfigSynonym(setting.name, setting.format(setting.default), ConfigSource.DEFAULT_CONFIG),)
    return _entry(setting.name, setting, text, synonyms, read_only=False)


def _entry(
    name: str, setting: Setting[Any] | None, text: str | None, synonyms: tuple[ConfigSynonym, ...], read_only: bool
) -> ConfigEntry:
    return ConfigEntry(
        name=name,
        value=text,
        read_only=read_only,
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        is_sensitive=setting is None or setting.is_sensitive,
        synonyms=synonyms,
        type=setting.kind.type if setting else ConfigType.UNKNOWN,
        documentation=setting.doc if setting else None,
    )


def _names(name: str, setting: Setting[Any] | None) -> tuple[str, ...]:
    """Return the names under which a broker looks `name` up, best first."""
    base = base_of(name)
    if base is not None:
        return (name, base)
    return (setting.family if setting else ()) or (name,)


def _layer_synonyms(names: tuple[str, ...], setting: Setting[Any] | None, layers: Layers) -> tuple[ConfigSynonym, ...]:
    return tuple(
        ConfigSynonym(each, _shown(setting, layer[each]), source)
        for source, layer in layers.by_precedence()
        for each in names
        if each in layer
    )


def _beginning_at(name: str, synonyms: tuple[ConfigSynonym, ...]) -> tuple[ConfigSynonym, ...]:
    """Drop the synonyms before the best name, as Kafka does, so that a value which comes from `log.roll.hours` alone
    has no synonyms, and is called a default."""
    first = next((index for index, each in enumerate(synonyms) if each.name == name), len(synonyms))
    return synonyms[first:]


def _default_synonyms(names: tuple[str, ...]) -> tuple[ConfigSynonym, ...]:
    declared = (BROKER[name] for name in names if name in BROKER)
    return tuple(
        ConfigSynonym(setting.name, _shown(setting, setting.format(setting.default)), ConfigSource.DEFAULT_CONFIG)
        for setting in declared
        if setting.default is not None and not setting.dynamic_only
    )


def _normal(setting: Setting[Any], text: str) -> str | None:
    return setting.format(setting.parse(text))


def _shown(setting: Setting[Any] | None, text: str | None) -> str | None:
    return None if setting is None or setting.is_sensitive else text


def _is_read_only(name: str) -> bool:
    """Tell whether the setting is shown as read-only. As in Kafka a listener's own settings are, though they can be
    changed."""
    setting = BROKER.get(name)
    return setting is None or setting.scope is Scope.READ_ONLY


def _chosen(known: Iterable[str], names: Iterable[str] | None) -> list[str]:
    wanted = None if names is None else dict.fromkeys(names)
    return sorted(name for name in known if not wanted or name in wanted)
