"""Dynamic settings in the metadata log, and what they are settings of."""

from enum import IntEnum
from typing import NamedTuple


class ResourceType(IntEnum):
    """Kafka's numbers for what a dynamic setting can belong to."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """The BROKER with no name stands for all brokers."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name} {self.name!r}"
