"""The directories of a config as this machine has them.

Kafka's files may name them relative to where the broker is started, with a slash at their end, or with `..` in them.
Below `io` a path is absolute and has nothing to resolve, so that two spellings are never two directories.
"""

import os

from tidelog.config import BrokerConfig
from tidelog.config.layers import Layers

_LISTS = ("log.dirs", "log.dir", "cordoned.log.dirs")
_METADATA_LOG_DIR = "metadata.log.dir"
_ALL = "*"  # in `cordoned.log.dirs`: every directory


def with_absolute_directories(config: BrokerConfig) -> BrokerConfig:
    """Return the config with absolute directories, each named once; the same object where they are so already."""
    layers = config.layers
    static = dict(layers.static)
    for name in _LISTS:
        if name in static:
            paths = (path.strip() for path in static[name].split(","))
            static[name] = ",".join(dict.fromkeys(_absolute(path) for path in paths))
    if static.get(_METADATA_LOG_DIR):
        static[_METADATA_LOG_DIR] = _absolute(static[_METADATA_LOG_DIR])
    if static == layers.static:
        return config
    return BrokerConfig(Layers(static, layers.cluster, layers.broker))


def _absolute(path: str) -> str:
    """Return the absolute path. An empty entry is left as it is: the check of its setting accepts or refuses it."""
    return path if path in ("", _ALL) else os.path.abspath(path)
