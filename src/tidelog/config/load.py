"""From the text of a `server.properties` to a config, or to everything that is wrong with it at once.

What keeps the node from starting is a problem; what does not is a warning: an unknown setting (with the name that was
probably meant), one that is set twice, one that is ignored without harm, a choice that is allowed and rarely wise.
A setting that asks for a feature that is not there is a problem (`Setting.refused`): nobody shall rely on it.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from tidelog.config.broker_config import BROKER_RULES, BrokerConfig, refusal, unknown_setting
from tidelog.config.catalogue import BROKER, base_of
from tidelog.config.layers import Layers
from tidelog.config.listener_plan import plan_listeners
from tidelog.config.problems import ConfigError, ConfigWarning, Notice, Problem, bad_value, missing
from tidelog.config.properties import MalformedProperty, Property, read_properties
from tidelog.config.retired import RETIRED
from tidelog.config.rules import run_rules, violation
from tidelog.config.setting import InvalidValue, Setting
from tidelog.config.settings import groups, node, tiered
from tidelog.config.values import Values
from tidelog.model.lazy_dataclass import dataclass, field

# Embedded and development nodes load these before anything else: nobody there waits for a fleet to start, and a second
# consumer has its partitions in two or three seconds instead of ten to fifteen (a KIP-848 hand-over takes a heartbeat
# of each member).
DEVELOPMENT_PROPERTIES = {
    groups.GROUP_INITIAL_REBALANCE_DELAY_MS.name: "0",
    groups.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS.name: "1000",
    groups.GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS.name: "500",
    groups.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS.name: "0",
}


@dataclass(slots=True, frozen=True)
class LoadedConfig:
    config: BrokerConfig
    warnings: tuple[ConfigWarning, ...]


def load_broker_config(
    text: str, origin: str = "server.properties", must_be_known: Collection[str] = frozenset()
) -> LoadedConfig:
    """Return the config that `text` describes; ConfigError lists everything that keeps it from being one.

    An unknown name is a warning, as a file may be read by others too, but a problem for those of `must_be_known`: what
    somebody just typed on a command line, or into a test, was typed for us.
    """
    loading = _Loader(origin, must_be_known)
    loading.take(list(read_properties(text)))
    loading.check_whole()
    if loading.problems:
        raise ConfigError(sorted(loading.problems, key=lambda problem: problem.line))
    return LoadedConfig(BrokerConfig(Layers(static=loading.static)), tuple(loading.warnings))


@dataclass(slots=True)
class _Loader:
    """The state of loading a file: what has been understood so far."""

    origin: str
    must_be_known: Collection[str] = ()
    static: dict[str, str] = field(default_factory=dict)
    values: dict[str, object] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[ConfigWarning] = field(default_factory=list)

    def take(self, entries: list[Property | MalformedProperty]) -> None:
        for entry in entries:
            if isinstance(entry, MalformedProperty):
                self.problems.append(Problem("entry", entry.reason).at(self.origin, entry.line))
        properties = [entry for entry in entries if isinstance(entry, Property)]
        last = {prop.key: prop for prop in properties}
        for prop in properties:
            self.lines[prop.key] = prop.line
            if last[prop.key] is not prop:
                reason = f"set again on line {last[prop.key].line}, which counts"
                self.warn(Notice.REPEATED, Problem(prop.key, reason))
        self.values = {name: setting.default for name, setting in BROKER.items() if not setting.required}
        for prop in last.values():
            self.take_one(prop.key, prop.value)
        self.share_node_id()
        for name in self.static:
            if BROKER.get(base_of(name) or name) is None and not name.startswith(self.passed_through()):
                self.take_unknown(name)

    def take_unknown(self, name: str) -> None:
        if name in self.must_be_known:
            self.complain(_unknown(name), name)
        else:
            self.warn(Notice.UNKNOWN, _unknown(name))

    def take_one(self, name: str, text: str) -> None:
        base = base_of(name)
        setting = BROKER.get(base or name)
        if setting is None:
            # An unknown setting is kept, as Kafka does: a plug-in may read it.
            self.static[name] = text
        elif setting.dynamic_only:
            self.warn(Notice.HARMLESS, Problem(name, "can only be set on a running cluster; ignored"))
        else:
            self.take_known(name, text, setting, is_base=base is None)

    def take_known(self, name: str, text: str, setting: Setting[object], *, is_base: bool) -> None:
        try:
            value = setting.parse(text)
        except InvalidValue as error:
            self.values.pop(name, None)
            self.complain(bad_value(setting, text, str(error)), name)
            return
        reason = refusal(setting, value, is_base=is_base)
        if reason:
            self.values.pop(name, None)
            self.complain(missing(setting, name, text, reason), name)
            return
        self.static[name] = text
        if is_base:
            self.values[name] = value
        elif not setting.per_listener:
            self.warn(Notice.HARMLESS, Problem(name, f"{setting.name} cannot be set for one listener; ignored"))
        if setting.harmless:
            self.warn(Notice.HARMLESS, Problem(name, f"ignored: {setting.harmless}"))

    def share_node_id(self) -> None:
        """Let `broker.id`, the older name of `node.id`, and `node.id` stand for each other."""
        for here, there in ((node.NODE_ID, node.BROKER_ID), (node.BROKER_ID, node.NODE_ID)):
            if here.name in self.static and there.name not in self.lines:
                self.static[there.name] = self.static[here.name]
                self.values[there.name] = self.values[here.name]

    def check_whole(self) -> None:
        for setting in BROKER.values():
            if setting.required and setting.name not in self.static and setting.name not in self.lines:
                self.complain(Problem(setting.name, "missing", valid=setting.valid), setting.name)
        values = Values(self.values, Layers(static=self.static))
        for problem in run_rules(BROKER_RULES, values):
            self.complain(problem, problem.name)
        for problem in run_rules((_short_sessions, _unknown_listeners), values):
            self.warn(Notice.UNWISE, problem)

    def passed_through(self) -> tuple[str, ...]:
        prefixes = (tiered.REMOTE_LOG_STORAGE_MANAGER_IMPL_PREFIX, tiered.REMOTE_LOG_METADATA_MANAGER_IMPL_PREFIX)
        return tuple(str(self.values.get(prefix.name, prefix.default)) for prefix in prefixes)

    def complain(self, problem: Problem, name: str) -> None:
        self.problems.append(replace(problem, name=name, origin=self.origin, line=self.line(name)))

    def warn(self, notice: Notice, problem: Problem) -> None:
        self.warnings.append(ConfigWarning(notice, problem.at(self.origin, self.line(problem.name))))

    def line(self, name: str) -> int:
        return self.lines.get(name, 0)


def _unknown(name: str) -> Problem:
    if name in RETIRED:
        return Problem(name, f"no longer a setting since Kafka 4.0; {RETIRED[name]}")
    return unknown_setting(name, BROKER)


def _short_sessions(values: Values) -> Iterator[Problem]:
    heartbeat_ms, session_ms = values.get(node.BROKER_HEARTBEAT_INTERVAL_MS), values.get(node.BROKER_SESSION_TIMEOUT_MS)
    if heartbeat_ms * 2 > session_ms:
        reason = f"more than half of broker.session.timeout.ms = {session_ms}: one lost heartbeat fences a broker"
        yield violation(values, node.BROKER_HEARTBEAT_INTERVAL_MS, reason)


def _unknown_listeners(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    for name in values.layers.static:
        listener = name.removeprefix("listener.name.").partition(".")[0].upper()
        if base_of(name) and listener not in (*plan.names, *plan.controller_names):
            yield Problem(name, f"there is no listener {listener}; ignored")
