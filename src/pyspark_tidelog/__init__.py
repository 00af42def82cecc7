"""Kafka topics in Spark without a jar: `spark.read.format("tidelog")`, `.write`, and their streaming twins.

Spark imports every top-level module whose name begins with `pyspark_` and registers its `DefaultSource`: that is how
the format gets its name, with nothing to register by hand. Workers import this package as well, once a process, so
nothing heavy is imported until somebody asks for it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark_tidelog.listener import listen
    from pyspark_tidelog.progress import lag
    from pyspark_tidelog.source import DefaultSource

__all__ = ["DefaultSource", "listen", "lag"]

_MODULES = {"DefaultSource": "source", "listen": "listener", "lag": "progress"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
