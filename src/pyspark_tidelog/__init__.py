"""Kafka topics in Spark without a jar: `spark.read.format("tidelog")`, `.write`, and their streaming twins.

Spark imports every top-level module named `pyspark_*` and registers its `DefaultSource`: that is how the format gets
its name, with nothing to register by hand. Workers import this package as well, once a process, so nothing heavy is
imported until somebody asks for it. All that users call can be imported from here.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark_tidelog.decoding import Registry, from_avro, from_json_value, from_protobuf
    from pyspark_tidelog.lake import archive, archived_until, audit, start_archive, write_batch
    from pyspark_tidelog.sink.foreach import write_exactly_once
    from pyspark_tidelog.sink.recovery import finish_decided
    from pyspark_tidelog.sink.updates import start_updates
    from pyspark_tidelog.source.data_source import DefaultSource
    from pyspark_tidelog.source.listener import listen
    from pyspark_tidelog.source.progress import lag

__all__ = [
    "DefaultSource",
    "listen",
    "lag",
    "write_exactly_once",
    "finish_decided",
    "write_batch",
    "archive",
    "start_archive",
    "archived_until",
    "audit",
    "from_json_value",
    "from_avro",
    "from_protobuf",
    "Registry",
    "start_updates",
]

_MODULES: Final = {
    "DefaultSource": "source.data_source",
    "listen": "source.listener",
    "lag": "source.progress",
    "write_exactly_once": "sink.foreach",
    "finish_decided": "sink.recovery",
    "start_updates": "sink.updates",
    **dict.fromkeys(("write_batch", "archive", "start_archive", "archived_until", "audit"), "lake"),
    **dict.fromkeys(("from_json_value", "from_avro", "from_protobuf", "Registry"), "decoding"),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
