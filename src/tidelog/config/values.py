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
    """The error for a setting that has no value, because the one given was refused."""


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
        """Tell whether anybody set it, to its default or to anything else."""
        return self.layers.find(setting.name) is not None


def resolve_values(settings: Mapping[str, Setting[Any]], layers: Layers) -> Values:
    """Return the value of every setting. The text in the layers must be valid."""
    values = {name: setting.default for name, setting in settings.items()}
    for layer in (layers.static, layers.cluster, layers.broker):  # few settings are set, and few of them twice
        for name in layer:
            if name in settings:
                values[name] = resolve_broker(settings[name], layers).value
    return Values(values, layers)
