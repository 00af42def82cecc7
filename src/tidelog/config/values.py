"""The broker settings of a node as typed values, resolved once.

A file with mistakes in it still has rules to be checked: a value that is missing or bad is left out, and reading it
raises `Unresolved`, so that a rule that needs it is skipped instead of complaining about something nobody wrote.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from tidelog.config.layers import Layers, resolve_broker
from tidelog.config.setting import Setting

V = TypeVar("V")


class Unresolved(Exception):
    """The setting has no value, because the one given was refused."""


class Values:
    __slots__ = ("_by_name", "layers")

    def __init__(self, by_name: Mapping[str, Any], layers: Layers) -> None:
        self._by_name = by_name
        self.layers = layers

    def get(self, setting: Setting[V]) -> V:
        try:
            value: V = self._by_name[setting.name]
        except KeyError:
            raise Unresolved(setting.name) from None
        return value

    def is_set(self, setting: Setting[Any]) -> bool:
        """Whether anybody set it, to its default or to anything else."""
        return self.layers.find(setting.name) is not None

    def for_listener(self, setting: Setting[V], listener: str, mechanism: str = "") -> V:
        """The value for one listener (and mechanism): `listener.name.<listener>.[<mechanism>.]<name>`, or the base."""
        prefix = f"listener.name.{listener.lower()}."
        names = [f"{prefix}{mechanism.lower()}.{setting.name}"] if mechanism else []
        for name in [*names, f"{prefix}{setting.name}"]:
            found = self.layers.find(name)
            if found:
                return setting.parse(found[1])
        return self.get(setting)


def resolve_values(settings: Mapping[str, Setting[Any]], layers: Layers) -> Values:
    """Every value of text that is known to be valid."""
    return Values({name: resolve_broker(setting, layers).value for name, setting in settings.items()}, layers)
