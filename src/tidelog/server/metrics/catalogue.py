"""All metrics, in the order in which they are told."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.server.metrics.cluster import CLUSTER_METRICS
from tidelog.server.metrics.declaration import Family, Section
from tidelog.server.metrics.groups import GROUP_METRICS
from tidelog.server.metrics.logs import CLEANER_METRICS, LOG_METRICS
from tidelog.server.metrics.process import PROCESS_METRICS
from tidelog.server.metrics.requests import CONNECTION_METRICS, REQUEST_METRICS
from tidelog.server.metrics.scrape import Scrape
from tidelog.server.metrics.text import render
from tidelog.server.metrics.topics import REPLICA_METRICS, TOPIC_METRICS
from tidelog.server.metrics.transactions import TRANSACTION_METRICS

if TYPE_CHECKING:
    from tidelog.server.node.node import Node

SECTIONS: tuple[Section, ...] = (
    REQUEST_METRICS,
    CONNECTION_METRICS,
    TOPIC_METRICS,
    REPLICA_METRICS,
    LOG_METRICS,
    CLEANER_METRICS,
    GROUP_METRICS,
    TRANSACTION_METRICS,
    CLUSTER_METRICS,
    PROCESS_METRICS,
)
FAMILIES: tuple[Family, ...] = tuple(family for section in SECTIONS for family in section.families)


def scrape_pieces(node: "Node") -> Iterator[str]:
    """Begun when its turn has come, not when it is asked for: the numbers are those of that moment."""
    scrape = Scrape(node)
    for _ in scrape.take_survey():
        yield ""
    yield from render(FAMILIES, scrape)
