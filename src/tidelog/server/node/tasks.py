"""What a running node does from time to time (`periodic`), and how often."""

from collections.abc import Callable
from typing import Final

from tidelog.config import Setting
from tidelog.config.settings import log, transactions
from tidelog.server.hosting.disk_shortage import DiskWatch
from tidelog.server.http.connections import HttpServer
from tidelog.server.node.broker import Broker
from tidelog.server.node.periodic import Periodic

IDLE_CHECK_MS: Final = 1_000
REMOVAL_CHECK_MS: Final = 1_000  # of what was deleted: its own delay says when it goes, not the interval of retention
REFUSED_CHECK_MS: Final = 5_000
DISK_CHECK_MS: Final = 1_000


def add_tasks(periodic: Periodic, broker: Broker, http: HttpServer, now_ms: int) -> None:
    logs, turn, connections, hosted = broker.logs, broker.turn, broker.connections, broker.hosted
    watch = DiskWatch(broker)
    watch.look()

    def every(setting: Setting[int]) -> Callable[[], int]:
        return lambda: broker.config.get(setting)

    tasks: list[tuple[Callable[[], int], Callable[[], None]]] = [
        (every(log.LOG_RETENTION_CHECK_INTERVAL_MS), lambda: logs.begin_retention(turn.wall_ms)),
        (lambda: DISK_CHECK_MS, watch.look),
        (lambda: REMOVAL_CHECK_MS, lambda: logs.begin_removal(turn.wall_ms)),
        (every(log.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS), logs.begin_checkpoint),
        (every(transactions.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS), lambda: logs.begin_expiry(turn.wall_ms)),
        (lambda: IDLE_CHECK_MS, lambda: connections.close_idle(turn.monotonic_ms)),
        (lambda: IDLE_CHECK_MS, lambda: http.close_idle(turn.monotonic_ms)),
        (lambda: IDLE_CHECK_MS, lambda: broker.events.settle(turn.monotonic_ms)),
        (lambda: IDLE_CHECK_MS, lambda: broker.fetch_sessions.expire(turn.monotonic_ms)),
        (lambda: REFUSED_CHECK_MS, hosted.retry_refused),
    ]
    for interval_ms, run in tasks:
        periodic.add(now_ms, interval_ms, run)
