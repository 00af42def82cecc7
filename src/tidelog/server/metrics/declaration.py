"""A metric is declared once: its name, kind, labels and meaning, what it is called in Kafka, and how it is read.

From that follow the text that Prometheus scrapes (`metrics_text`) and the page that documents it (docs/metrics.md).
Names are those that the usual JMX exporters give to Kafka's beans, so that dashboards fit; times are in seconds, as
Prometheus wants them, where Kafka's are in milliseconds; what only Tidelog has begins with `tidelog_`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tidelog.server.requests.request_metrics import Histogram

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape

NANOSECONDS_PER_S = 1_000_000_000
MILLISECONDS_PER_S = 1_000


class Kind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


# The labels' values, and the value; or, where a series of a million labels would be made again for every family, the
# labels as they are written.
Sample = tuple[tuple[str, ...] | str, float | Histogram]
Read = Callable[["Scrape"], Iterable[Sample]]


@dataclass(slots=True, frozen=True)
class Family:
    name: str
    kind: Kind
    help: str
    read: Read
    labels: tuple[str, ...] = ()
    kafka: str = ""  # the bean


@dataclass(slots=True, frozen=True)
class Section:
    title: str
    families: tuple[Family, ...]
    text: str = ""


def one(read: Callable[["Scrape"], float | Histogram | None]) -> Read:
    """Of a family without labels; None: there is nothing to tell."""

    def samples(scrape: "Scrape") -> list[Sample]:
        value = read(scrape)
        return [] if value is None else [((), value)]

    return samples
