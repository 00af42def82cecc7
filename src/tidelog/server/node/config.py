"""The settings of a running node, and where a change of them goes.

    server.properties, read again on SIGHUP  ->  what of it may change without a restart
    the metadata log (IncrementalAlterConfigs), for all brokers and for this one  ->  over it

Both ways end in one BrokerConfig (`config.dynamic`), which is handed to everybody who acts on a setting.
"""

from typing import Any, Final

from tidelog.config import BrokerConfig, Setting, apply_dynamic
from tidelog.config.catalogue import BROKER, GROUP, TOPIC, base_of
from tidelog.config.layers import Layers
from tidelog.config.problems import Problem
from tidelog.config.setting import Scope
from tidelog.config.settings import log, quotas, transactions
from tidelog.metadata.changes import Changes
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.server.node.broker import Broker
from tidelog.storage.cleaner.cleaner_config import cleaner_config
from tidelog.storage.cleaner.scheduler import LogCleaner
from tidelog.storage.producers.state import ProducerStateConfig

_KNOWN: Final[dict[ResourceType, dict[str, Setting[Any]]]] = {ResourceType.TOPIC: TOPIC, ResourceType.GROUP: GROUP}
ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")


class NodeConfig:
    def __init__(self, file: BrokerConfig, broker: Broker, producers: ProducerStateConfig) -> None:
        self._file = file
        self._broker = broker
        self._producers = producers
        self._own = ConfigResource(ResourceType.BROKER, str(broker.node_id))
        self._ignored: set[str] = set()  # dynamic settings without effect that were told
        self._ignored_elsewhere: set[Setting[Any]] = set()  # of topics and groups
        self.cleaner: LogCleaner | None = None  # until the logs are there

    def follow(self, changes: Changes) -> None:
        """The broker's image is new."""
        if ALL_BROKERS in changes.configs or self._own in changes.configs:
            self._apply()
        self._tell_ignored(changes)

    def _tell_ignored(self, changes: Changes) -> None:
        """Settings without effect that topics or groups have: once each, with the first that has it. At a start the
        changes are everything that is stored."""
        for resource in changes.configs:
            known = _KNOWN.get(resource.type)
            for name in (self._broker.image.configs.get(resource) or ()) if known is not None else ():
                setting = None if known is None else known.get(name)
                if setting is not None and setting.harmless and setting not in self._ignored_elsewhere:
                    self._ignored_elsewhere.add(setting)
                    of = f"{name} of {resource.type.name.lower()} {resource.name}"
                    self._broker.events.config_ignored(Problem(of, setting.harmless))

    def reload(self, file: BrokerConfig) -> list[str]:
        """The file was read again; what can not change while the node runs is told, and left as it was. Returns the
        names of what has changed."""
        before = self._file.layers.static
        self._file, ignored = reloaded(self._file, file)
        for name in ignored:
            self._broker.events.restart_needed(name)
        self._apply()
        static = self._file.layers.static
        return [name for name in dict.fromkeys([*before, *static]) if before.get(name) != static.get(name)]

    def _apply(self) -> None:
        broker, configs = self._broker, self._broker.image.configs
        applied = apply_dynamic(self._file, configs.get(ALL_BROKERS) or {}, configs.get(self._own) or {})
        for problem in applied.problems:
            broker.events.config_problem(problem)
        for ignored in applied.ignored:
            if ignored.name not in self._ignored:
                broker.events.config_ignored(ignored)
        self._ignored = {each.name for each in applied.ignored}
        before, config = broker.config, applied.config
        broker.reconfigure(config)
        broker.turn.is_eventful = True
        self._apply_to_logs(before, config)
        if self.cleaner is not None and cleaner_config(config) != cleaner_config(before):
            self.cleaner.reconfigure(cleaner_config(config))

    def _apply_to_logs(self, before: BrokerConfig, config: BrokerConfig) -> None:
        logs, turn = self._broker.logs, self._broker.turn
        self._producers.expiration_ms = config.get(transactions.PRODUCER_ID_EXPIRATION_MS)
        self._producers.verification_enabled = config.get(transactions.TRANSACTION_PARTITION_VERIFICATION_ENABLE)
        limit = quotas.REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND
        if config.get(limit) != before.get(limit):
            logs.moves.limit(config.get(limit), turn.wall_ms)
        cordoned: tuple[str, ...] = config.get(log.CORDONED_LOG_DIRS)
        if cordoned != tuple(logs.cordoned):
            logs.cordoned = list(cordoned)
            if self._broker.registration is not None:
                self._broker.registration.hurry()


def reloaded(before: BrokerConfig, after: BrokerConfig) -> tuple[BrokerConfig, list[str]]:
    """`before` with what may change of `after`; and the names of the settings that differ and may not. An unknown name
    is none: it takes effect at no start."""
    old, new = before.layers.static, after.layers.static
    changed = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    fixed = {name for name in changed if _is_fixed(name)}
    kept = {name: text for name, text in old.items() if name in fixed}
    static = {**{name: text for name, text in new.items() if name not in fixed}, **kept}
    return BrokerConfig(Layers(static=static)), [name for name in changed if name in fixed and _setting(name)]


def _setting(name: str) -> Setting[object] | None:
    return BROKER.get(base_of(name) or name)


def _is_fixed(name: str) -> bool:
    """Also what nobody knows: whoever reads it did so at the start."""
    setting = _setting(name)
    return setting is None or setting.scope is Scope.READ_ONLY or setting.restart_only
