"""The topic of the ledger: made so that it keeps decisions, and refused where it would not keep them.

When a decision is lost, a batch is written twice, or stays half committed. So the topic has three replicas where there
are three brokers, as the topics of transactions themselves have, and is compacted only: with `delete` beside `compact`
the last decision of a query that rests for a week would be gone.
"""

import logging
from typing import Final

from pyspark_tidelog.errors import SinkError
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode

LOGGER: Final = logging.getLogger("pyspark_tidelog")
REPLICAS: Final = 3
POLICY: Final = "cleanup.policy"
COMPACT: Final = "compact"
# Topics whose names begin so are ours: no `subscribePattern` matches them.
INTERNAL_PREFIX: Final = "__tidelog_"
CONFIGS: Final = {
    POLICY: COMPACT,
    "segment.bytes": str(4 << 20),  # the active segment is not compacted, and a new query reads all of it
    "min.cleanable.dirty.ratio": "0.1",
    "unclean.leader.election.enable": "false",
}


def make(client: Client, topic: str) -> None:
    """Create the ledger topic unless it exists."""
    if client.has_topic(topic):
        return
    replicas = _replicas(client)
    configs = {**CONFIGS, "min.insync.replicas": str(max(1, replicas - 1))}
    try:
        Admin(client).create_topic(NewTopic(topic, 1, replicas, configs))
        LOGGER.info("made the topic %s, the ledger of exactly-once queries, with %d replicas", topic, replicas)
    except ClientError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise
    client.topic(topic, may_create=True)  # waits until it is known


def check(client: Client, topic: str) -> None:
    """Refuse a topic that would delete decisions; log a warning where it has too few replicas to survive a lost
    disk."""
    policy = _policy(client, topic)
    if policy is not None and policy != COMPACT:
        what = f"the ledger topic {topic} has {POLICY}={policy}: it would forget which batches are committed"
        step = (
            f"set it to {COMPACT} (tidelog configs set --topic {topic} {POLICY}={COMPACT}), "
            "or give this job a ledgerTopic of its own"
        )
        raise SinkError(what, client.name, step)
    found = client.topic(topic).replication_factor
    if found < _replicas(client):
        text = "the ledger topic %s has %d replica(s) on %d brokers: give it %d, or a lost disk loses its decisions"
        LOGGER.warning(text, topic, found, len(client.metadata.nodes), _replicas(client))


def _replicas(client: Client) -> int:
    return max(1, min(REPLICAS, len(client.metadata.nodes)))


def _policy(client: Client, topic: str) -> str | None:
    """Return the topic's cleanup policy; None where this user may not see it."""
    try:
        found = Admin(client).describe_configs(ResourceType.TOPIC, topic, [POLICY])
    except ClientError as error:
        if error.code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise
        LOGGER.warning("no right to see whether the ledger topic %s is compacted: %s", topic, error)
        return None
    return found[POLICY].value if POLICY in found else None
