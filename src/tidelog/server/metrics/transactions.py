"""Metrics of the transaction coordinators: transactions by state, the oldest that is open, and how they ended."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tidelog.server.metrics.declaration import MILLISECONDS_PER_S, Family, Kind, Sample, Section, one

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape


def _by_state(scrape: "Scrape") -> Iterable[Sample]:
    return [((state,), count) for state, count in scrape.coordinators.transactions.items()]


def _oldest_age(scrape: "Scrape") -> float:
    start_ms = scrape.coordinators.oldest_start_ms
    return 0 if start_ms is None else max(0, scrape.wall_ms - start_ms) / MILLISECONDS_PER_S


def _counter(name: str, help_text: str, counter: str) -> Family:
    def value(scrape: "Scrape") -> int:
        return scrape.coordinators.transaction_counters.get(counter, 0)

    return Family(f"tidelog_transactions_{name}_total", Kind.COUNTER, help_text, one(value))


TRANSACTION_METRICS = Section(
    "Transactions",
    (
        Family(
            "tidelog_transactions",
            Kind.GAUGE,
            "Transactional ids that are coordinated here, by the state of their last transaction.",
            _by_state,
            ("state",),
        ),
        Family(
            "tidelog_transactions_oldest_open_seconds",
            Kind.GAUGE,
            "For how long the oldest open transaction is open: read_committed consumers wait behind it. 0: none is.",
            one(_oldest_age),
        ),
        _counter("started", "Transactions that began.", "started"),
        _counter("committed", "Transactions that were committed.", "committed"),
        _counter("aborted", "Transactions that were aborted, for whatever reason.", "aborted"),
        _counter("timed_out", "Of these, those that took too long, and whose producers were fenced.", "timed_out"),
        _counter("expired_ids", "Transactional ids that nobody used any more.", "expired_ids"),
    ),
    "Of the transactional ids that this broker coordinates. One that hangs on a partition, because no coordinator\n"
    "knows of it any more, is found by `tidelog transactions find-hanging`.",
)
