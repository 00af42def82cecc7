"""Brokers and controllers as they registered."""

from collections.abc import Mapping
from typing import NamedTuple

from tidelog.metadata.directories import is_online
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclass import dataclass


class Endpoint(NamedTuple):
    """The address of a listener. The security protocol is Kafka's number: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3
    SASL_SSL."""

    name: str
    host: str
    port: int
    security_protocol: int


class VersionRange(NamedTuple):
    """The levels of a feature that a node can work with, both ends included."""

    min: int
    max: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.min <= level <= self.max


@dataclass(slots=True)
class Broker:
    """A broker's registration. `endpoints` by listener name, in the order registered.

    `log_dirs` are the ids of its online directories, sorted; empty when it never told. `cordoned_log_dirs` take no new
    replicas; None means that the broker has not said yet, which is not the same as none.
    """

    id: int
    epoch: int
    incarnation_id: Uuid
    endpoints: Mapping[str, Endpoint]
    features: Mapping[str, VersionRange]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[Uuid, ...] = ()
    cordoned_log_dirs: tuple[Uuid, ...] | None = None
    is_migrating_zk_broker: bool = False

    @property
    def is_active(self) -> bool:
        """Tell whether the broker may lead and be in an ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def has_uncordoned_log_dirs(self) -> bool:
        if not self.log_dirs or self.cordoned_log_dirs is None:
            return True
        return any(each not in self.cordoned_log_dirs for each in self.log_dirs)

    def has_online_log_dir(self, directory: Uuid) -> bool:
        """Tell whether a replica in the directory with this id counts as online on the broker."""
        return is_online(directory, self.log_dirs)


@dataclass(slots=True)
class ControllerRegistration:
    id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    endpoints: Mapping[str, Endpoint]
    features: Mapping[str, VersionRange]
