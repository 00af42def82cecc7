"""The pages of the listener for metrics and health.

/metrics   for Prometheus
/healthz   the loop turns: an answer is all it says
/readyz    whether clients can be sent here, and if not, why
"""

from typing import TYPE_CHECKING

from tidelog.server.cluster.registration import State
from tidelog.server.http.connections import Page, Pages, text_page
from tidelog.server.node.phase import Phase

if TYPE_CHECKING:
    from tidelog.server.node.node import Node


def pages_of(node: "Node") -> Pages:
    return {
        "/metrics": lambda: _metrics(node),
        "/healthz": lambda: text_page("ok"),
        "/readyz": lambda: _readiness(node),
    }


def _metrics(node: "Node") -> Page:
    """Return the page of metrics. They are imported when they are first asked for: a node without the listener does
    without all of them."""
    from tidelog.server.metrics.catalogue import scrape_pieces
    from tidelog.server.metrics.text import CONTENT_TYPE

    return Page(scrape_pieces(node), content_type=CONTENT_TYPE)


def _readiness(node: "Node") -> Page:
    reasons = unreadiness(node)
    return text_page("\n".join(reasons), 503) if reasons else text_page("ready")


def unreadiness(node: "Node") -> list[str]:
    """Say why clients should not be sent here; empty when they may."""
    reasons = []
    if node.phase is not Phase.RUNNING:
        reasons.append(f"the node is {node.phase.value}")
    registration = node.broker.registration
    if registration is None or registration.state is not State.ACTIVE:
        reasons.append("the broker is fenced")
    offline = [path for path, each in node.broker.logs.directories.items() if not each.is_online]
    return reasons + [f"the log directory {path} is offline" for path in offline]
