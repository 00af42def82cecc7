"""Metrics of the process and of its loop, by the names that Prometheus's own libraries use where there are such."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.ports.process import ProcessUse
from tidelog.server.metrics.declaration import NANOSECONDS_PER_S, Family, Kind, Section, one

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape


def _process(name: str, kind: Kind, help_text: str, read: Callable[[ProcessUse], float | None]) -> Family:
    def value(scrape: "Scrape") -> float | None:
        return None if scrape.process is None else read(scrape.process)

    return Family(f"process_{name}", kind, help_text, one(value))


PROCESS_METRICS = Section(
    "The loop and the process",
    (
        Family(
            "tidelog_loop_turn_seconds",
            Kind.HISTOGRAM,
            "Turns of the loop, without the waiting between them. Every client feels a long one.",
            one(lambda scrape: scrape.broker.turn.times.histogram),
        ),
        Family(
            "tidelog_loop_turn_worst_seconds",
            Kind.GAUGE,
            "The longest turn since the start.",
            one(lambda scrape: scrape.broker.turn.times.worst_ns / NANOSECONDS_PER_S),
        ),
        Family(
            "tidelog_loop_turn_worst_last_minute_seconds",
            Kind.GAUGE,
            "The longest turn of the last minute.",
            one(lambda scrape: scrape.broker.turn.times.worst_of_minute_ns(scrape.now_ms) / NANOSECONDS_PER_S),
        ),
        Family(
            "tidelog_bugs_total",
            Kind.COUNTER,
            "Requests that failed by a bug of ours. The log has the stack.",
            one(lambda scrape: scrape.broker.dispatch.bugs + scrape.node.events.page_bugs),
        ),
        Family(
            "tidelog_log_lines_suppressed_total",
            Kind.COUNTER,
            "Lines that were not logged, because there were too many of their kind.",
            one(lambda scrape: scrape.node.events.suppressed_total),
        ),
        _process("cpu_seconds_total", Kind.COUNTER, "Processor time, user and system.", lambda use: use.cpu_seconds),
        _process("start_time_seconds", Kind.GAUGE, "When it began, since 1970.", lambda use: use.started_seconds),
        _process("resident_memory_bytes", Kind.GAUGE, "Memory in use.", lambda use: use.resident_bytes),
        _process("virtual_memory_bytes", Kind.GAUGE, "Address space in use.", lambda use: use.virtual_bytes),
        _process("open_fds", Kind.GAUGE, "Open file descriptors.", lambda use: use.open_descriptors),
        _process("max_fds", Kind.GAUGE, "How many there may be.", lambda use: use.max_descriptors),
    ),
)
