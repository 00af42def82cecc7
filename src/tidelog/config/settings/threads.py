"""Threads of the original.

Pools that size Apache's threads. They are known, so that a stock server.properties loads.
"""

from tidelog.config.kinds import INT
from tidelog.config.setting import Importance, Scope, setting
from tidelog.config.table import table
from tidelog.config.validators import at_least

NUM_NETWORK_THREADS = setting(
    "num.network.threads",
    INT,
    3,
    "Threads that read from and write to sockets.",
    validator=at_least(1),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
    harmless="One event loop does both; for more cores, run one broker a core.",
    per_listener=True,
)

POOLS = table(
    setting("num.io.threads", INT, 8,
            "Threads that handle requests.",
            validator=at_least(1), harmless="One event loop handles requests; for more cores, run one broker a core."),
    setting("background.threads", INT, 10,
            "Threads for housekeeping.",
            validator=at_least(1),
            harmless="Housekeeping runs in slices of the event loop and in processes of its own."),
    importance=Importance.HIGH,
    scope=Scope.CLUSTER_WIDE,
)  # fmt: skip
