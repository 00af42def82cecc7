"""Changes while the cluster runs. Two questions, asked at different times:

- May this change be made? (`dynamic_problem`, before a controller writes it down; anything wrong refuses it.)
- What follows from what is written down? (`apply_dynamic`, on every broker, for records that cannot be argued with:
  an Apache controller, an older version or another broker's limits may have let through what we would not. What
  cannot be used is left out and reported, and the node goes on with what it had.)
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.config.broker_config import BROKER_RULES, BrokerConfig, unknown_setting
from tidelog.config.catalogue import BROKER, base_of
from tidelog.config.group_config import LIMITS
from tidelog.config.layers import Layers
from tidelog.config.problems import Problem, bad_value
from tidelog.config.rules import run_rules
from tidelog.config.setting import InvalidValue, Scope, Setting
from tidelog.config.settings import listeners, threads, tls
from tidelog.config.values import resolve_values

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
class Applied:
    config: BrokerConfig
    # What was left out, and why.
    problems: tuple[Problem, ...]


def apply_dynamic(config: BrokerConfig, cluster: Mapping[str, str], broker: Mapping[str, str]) -> Applied:
    """`config` under new dynamic layers, which replace those it had."""
    problems = [*_problems(cluster, cluster_wide=True), *_problems(broker, cluster_wide=False)]
    layers = Layers(
        static=config.layers.static,
        cluster=_within_limits(config, _usable(cluster, cluster_wide=True)),
        broker=_within_limits(config, _usable(broker, cluster_wide=False)),
    )
    broken = check_layers(layers)
    return Applied(config if broken else BrokerConfig(layers), (*problems, *broken))


def check_layers(layers: Layers) -> list[Problem]:
    """What the rules say about a whole of layers whose single values are valid."""
    return run_rules(BROKER_RULES, resolve_values(BROKER, layers))


def dynamic_problem(name: str, text: str, *, cluster_wide: bool) -> Problem | None:
    """What is wrong with setting `name` to `text` on a running broker, or on all of them at once."""
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
    found = (dynamic_problem(name, text, cluster_wide=cluster_wide) for name, text in layer.items())
    return [problem for problem in found if problem]


def _usable(layer: Mapping[str, str], *, cluster_wide: bool) -> dict[str, str]:
    return {name: text for name, text in layer.items() if not dynamic_problem(name, text, cluster_wide=cluster_wide)}


def _within_limits(config: BrokerConfig, layer: dict[str, str]) -> dict[str, str]:
    """Limits may have been drawn closer at a restart; what was stored before then counts as the limit."""
    for group_setting, low, high in LIMITS:
        setting: Setting[int] = group_setting.synonyms[0].setting
        if setting.name in layer:
            value = setting.parse(layer[setting.name])
            layer[setting.name] = str(min(max(value, config.get(low)), config.get(high)))
    return layer
