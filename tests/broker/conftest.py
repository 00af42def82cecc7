"""A real node in a process of its own: one for each xdist worker, on a port that the system chose, from the kit that we
give to others (tidelog.testing). A test here fails when the node does not answer; it is never skipped.

`bootstrap` is the address as clients take it, `topic` a name that no other test of the run uses, not yet created.
"""

import socket

import pytest

from tidelog.testing import Broker

ANSWER_S_MAX = 10


@pytest.fixture
def bootstrap(kafka_broker: Broker) -> str:
    """Of the session's node; a test that kills or restarts a node takes one of its own (`tidelog.testing.broker`)."""
    socket.create_connection((kafka_broker.host, kafka_broker.port), ANSWER_S_MAX).close()
    return kafka_broker.bootstrap_servers


@pytest.fixture
def topic(kafka_topic_prefix: str) -> str:
    return f"{kafka_topic_prefix}topic"
