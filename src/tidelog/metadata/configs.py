"""Dynamic settings in the metadata log, and what they are settings of."""

from enum import IntEnum
from typing import NamedTuple


class ResourceType(IntEnum):
    """The kind of thing that a dynamic setting can belong to, with Kafka's number."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """One thing that has dynamic settings. A BROKER with no name stands for all brokers."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name} {self.name!r}"
