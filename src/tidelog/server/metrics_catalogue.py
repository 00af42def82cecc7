"""All metrics, in the order in which they are told; and the pages of the listener for them.

/metrics   for Prometheus
/healthz   the loop turns: an answer is all it says
/readyz    whether clients can be sent here, and if not, why
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.server.http_connection import Page, Pages, text_page
from tidelog.server.metrics import Family, Section
from tidelog.server.metrics_cluster import CLUSTER_METRICS
from tidelog.server.metrics_groups import GROUP_METRICS
from tidelog.server.metrics_logs import CLEANER_METRICS, LOG_METRICS
from tidelog.server.metrics_process import PROCESS_METRICS
from tidelog.server.metrics_requests import CONNECTION_METRICS, REQUEST_METRICS
from tidelog.server.metrics_scrape import Scrape
from tidelog.server.metrics_text import CONTENT_TYPE, render
from tidelog.server.metrics_topics import REPLICA_METRICS, TOPIC_METRICS
from tidelog.server.metrics_transactions import TRANSACTION_METRICS
from tidelog.server.node_phase import Phase
from tidelog.server.registration import State

if TYPE_CHECKING:
    from tidelog.server.node import Node

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


def pages_of(node: "Node") -> Pages:
    return {
        "/metrics": lambda: Page(scrape_pieces(node), content_type=CONTENT_TYPE),
        "/healthz": lambda: text_page("ok"),
        "/readyz": lambda: _readiness(node),
    }


def scrape_pieces(node: "Node") -> Iterator[str]:
    """Begun when its turn has come, not when it is asked for: the numbers are those of that moment."""
    scrape = Scrape(node)
    for _ in scrape.take_survey():
        yield ""
    yield from render(FAMILIES, scrape)


def _readiness(node: "Node") -> Page:
    reasons = unreadiness(node)
    return text_page("\n".join(reasons), 503) if reasons else text_page("ready")


def unreadiness(node: "Node") -> list[str]:
    """Why clients should not be sent here; empty when they may."""
    reasons = []
    if node.phase is not Phase.RUNNING:
        reasons.append(f"the node is {node.phase.value}")
    registration = node.broker.registration
    if registration is None or registration.state is not State.ACTIVE:
        reasons.append("the broker is fenced")
    offline = [path for path, each in node.broker.logs.directories.items() if not each.is_online]
    return reasons + [f"the log directory {path} is offline" for path in offline]
