"""Changes while the cluster runs. Two questions, asked at different times:

- May this change be made? (`dynamic_problem`, before a controller writes it down; anything wrong refuses it.)
- What follows from what is written down? (`apply_dynamic`, on every broker, for records that cannot be argued with:
  an Apache controller, an older version or another broker's limits may have let through what we would not. What
  cannot be used is left out and reported, and the node goes on with what it had. That holds for settings that are
  refused, too: a stored one can only be taken out through a running node, so it must not keep the node from starting.
  Nothing is open through it that the file did not open: the file decides what the listeners speak.)
"""

from collections.abc import Mapping

from tidelog.config import unserved
from tidelog.config.broker_config import BROKER_RULES, BrokerConfig, refusal, unknown_setting
from tidelog.config.catalogue import BROKER, base_of
from tidelog.config.group_config import LIMITS
from tidelog.config.layers import Layers
from tidelog.config.listener_rules import listeners_are_served
from tidelog.config.problems import Problem, bad_value, missing, shown
from tidelog.config.rules import run_rules
from tidelog.config.setting import InvalidValue, Scope, Setting
from tidelog.config.settings import listeners, threads, tls
from tidelog.config.values import resolve_values
from tidelog.model.lazy_dataclass import dataclass

# Key material is changed for one listener at a time: the base settings may be in use by all of them.
ONLY_FOR_A_LISTENER = (
    tls.SSL_KEYSTORE_TYPE,
    tls.SSL_KEYSTORE_LOCATION,
    tls.SSL_KEYSTORE_PASSWORD,
    tls.SSL_KEY_PASSWORD,
    tls.SSL_KEYSTORE_CERTIFICATE_CHAIN,
    tls.SSL_KEYSTORE_KEY,
    tls.SSL_TRUSTSTORE_TYPE,
    tls.SSL_TRUSTSTORE_LOCATION,
    tls.SSL_TRUSTSTORE_PASSWORD,
    tls.SSL_TRUSTSTORE_CERTIFICATES,
)
# With a listener's prefix these, unlike all others, may still be set for every broker.
CLUSTER_WIDE_FOR_A_LISTENER = (
    listeners.MAX_CONNECTIONS,
    listeners.MAX_CONNECTION_CREATION_RATE,
    threads.NUM_NETWORK_THREADS,
)


@dataclass(slots=True, frozen=True)
class AppliedConfig:
    config: BrokerConfig
    # The settings that were left out, and why.
    problems: tuple[Problem, ...]
    # The settings that are set without effect, and why that is harmless.
    ignored: tuple[Problem, ...] = ()


def apply_dynamic(config: BrokerConfig, cluster: Mapping[str, str], broker: Mapping[str, str]) -> AppliedConfig:
    """Return `config` under new dynamic layers, which replace those it had."""
    problems = [*_problems(cluster, cluster_wide=True), *_problems(broker, cluster_wide=False)]
    layers = Layers(
        static=config.layers.static,
        cluster=_within_limits(config, _usable(cluster, cluster_wide=True)),
        broker=_within_limits(config, _usable(broker, cluster_wide=False)),
    )
    broken = check_layers(layers)
    ignored = [each for each in map(_harmless, {**layers.cluster, **layers.broker}) if each]
    return AppliedConfig(config if broken else BrokerConfig(layers), (*problems, *broken), tuple(ignored))


def _harmless(name: str) -> Problem | None:
    setting = BROKER.get(base_of(name) or name)
    return Problem(name, setting.harmless) if setting is not None and setting.harmless else None


def check_layers(layers: Layers) -> list[Problem]:
    """Return which rules are broken by these layers together; their single values must be valid."""
    return run_rules(BROKER_RULES, resolve_values(BROKER, layers))


def dynamic_problem(name: str, text: str, *, cluster_wide: bool) -> Problem | None:
    """Say what is wrong with setting `name` to `text` on a running broker, or (`cluster_wide`) on all of them at once;
    None where nothing is."""
    setting, is_base = BROKER.get(base_of(name) or name), base_of(name) is None
    if setting is None:
        return unknown_setting(name, BROKER)
    reason = _refusal(setting, is_base, cluster_wide)
    if reason:
        return Problem(name, reason)
    try:
        setting.parse(text)
    except InvalidValue as error:
        return bad_value(setting, text, str(error))
    return None


def refused_problem(name: str, text: str) -> Problem | None:
    """Say what is missing that `name` asks for, if the file would be refused for it as well: "set it there and restart"
    is no advice then, whatever the update mode."""
    setting = BROKER.get(base_of(name) or name)
    if setting is None:
        return None
    try:
        reason = setting.refusal(setting.parse(text))
    except InvalidValue:
        return None
    return missing(setting, name, text, reason) if reason else None


def unserved_listeners(config: BrokerConfig, touched: Mapping[str, str]) -> list[Problem]:
    """Return the listeners that would not open after the restart which `touched` takes, because of what they are to
    speak."""
    named = (listeners.LISTENERS.name, listeners.LISTENER_SECURITY_PROTOCOL_MAP.name)
    asked = {name: touched[name] for name in named if name in touched}
    if not asked or any(_is_invalid(*each) for each in asked.items()):
        return []
    layers = Layers(static={**config.layers.static, **asked})
    return run_rules((listeners_are_served,), resolve_values(BROKER, layers))


def _is_invalid(name: str, text: str) -> bool:
    try:
        BROKER[name].parse(text)
    except InvalidValue:
        return True
    return False


def unserved_problem(name: str, text: str) -> Problem | None:
    """Say what is missing here that `name` asks for. `text` must be a valid value; an unknown name asks for nothing."""
    setting, is_base = BROKER.get(base_of(name) or name), base_of(name) is None
    if setting is not None and setting.restart_only:
        return Problem(name, unserved.RESTART_ONLY, shown(setting, text))
    reason = "" if setting is None else refusal(setting, setting.parse(text), is_base=is_base)
    return missing(setting, name, text, reason) if setting and reason else None


def unusable_problem(name: str, text: str, *, cluster_wide: bool) -> Problem | None:
    """Say why the stored `name` is not applied: it may not be changed so, or it asks for what is not there; None where
    it is."""
    return dynamic_problem(name, text, cluster_wide=cluster_wide) or unserved_problem(name, text)


def _refusal(setting: Setting[object], is_base: bool, cluster_wide: bool) -> str:
    if is_base and setting.scope is Scope.READ_ONLY:
        return "cannot be changed while the broker runs; set it in server.properties and restart"
    if is_base and setting in ONLY_FOR_A_LISTENER:
        return f"can be changed for one listener only, as listener.name.<listener>.{setting.name}"
    if not is_base and not setting.per_listener:
        return f"{setting.name} cannot be set for one listener"
    of_a_broker = setting.scope is Scope.PER_BROKER if is_base else setting not in CLUSTER_WIDE_FOR_A_LISTENER
    if cluster_wide and of_a_broker:
        return "can be changed for one broker at a time, not for all of them"
    return ""


def _problems(layer: Mapping[str, str], *, cluster_wide: bool) -> list[Problem]:
    found = (unusable_problem(name, text, cluster_wide=cluster_wide) for name, text in layer.items())
    return [problem for problem in found if problem]


def _usable(layer: Mapping[str, str], *, cluster_wide: bool) -> dict[str, str]:
    return {name: text for name, text in layer.items() if not unusable_problem(name, text, cluster_wide=cluster_wide)}


def _within_limits(config: BrokerConfig, layer: dict[str, str]) -> dict[str, str]:
    """Bring stored values within the broker's limits, which may have been drawn closer at a restart."""
    for group_setting, low, high in LIMITS:
        setting: Setting[int] = group_setting.synonyms[0].setting
        if setting.name in layer:
            value = setting.parse(layer[setting.name])
            layer[setting.name] = str(min(max(value, config.get(low)), config.get(high)))
    return layer
