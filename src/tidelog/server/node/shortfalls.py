"""What a node was asked for and cannot give. Each is told as an error when the node begins to serve, with what to do.
It starts all the same: what is missing concerns a part of what it serves, or can be put right only while it runs.

- The settings ask for more replicas of an internal topic than there are brokers: no groups, or no transactions.
- The metadata log has settings that are refused today: an earlier version, or Apache's controller, stored them.
- It has ACLs, quotas or credentials, which nobody enforces.
"""

from collections.abc import Iterator
from typing import Any, Final

from tidelog.config import BrokerConfig, Setting
from tidelog.config.broker_config import unusable
from tidelog.config.catalogue import CLIENT_METRICS, TOPIC
from tidelog.config.setting import Support
from tidelog.config.settings import groups, node, transactions
from tidelog.metadata.configs import ResourceType
from tidelog.metadata.image import MetadataImage
from tidelog.model.errors import CANNOT_BE_CREATED
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE

NAMED_MAX: Final = 5  # of thousands of topics with the same setting
_REPLICATION_FACTORS: Final[dict[str, tuple[Setting[int], str]]] = {
    CONSUMER_OFFSETS: (groups.OFFSETS_TOPIC_REPLICATION_FACTOR, "consumer groups"),
    TRANSACTION_STATE: (transactions.TRANSACTION_STATE_LOG_REPLICATION_FACTOR, "transactions"),
}
_OWNERS: Final = {ResourceType.TOPIC: "topic", ResourceType.CLIENT_METRICS: "client metrics subscription"}
_REFUSED: Final[dict[ResourceType, dict[str, Setting[Any]]]] = {
    kind: {name: setting for name, setting in known.items() if setting.support is Support.REFUSED}
    for kind, known in ((ResourceType.TOPIC, TOPIC), (ResourceType.CLIENT_METRICS, CLIENT_METRICS))
}


def shortfalls(config: BrokerConfig, image: MetadataImage) -> list[str]:
    """A line for each, for the operator."""
    missing = (missing_replicas(config, image, topic) for topic in _REPLICATION_FACTORS)
    return [
        *(line for line in missing if line),
        *_default_replicas(config, image),
        *_stored_settings(image),
        *_unenforced(image),
    ]


def missing_replicas(config: BrokerConfig, image: MetadataImage, topic: str) -> str | None:
    """Why the internal `topic` cannot be created; None where it is there, or can be."""
    setting, purpose = _REPLICATION_FACTORS[topic]
    wanted, there = config.get(setting), len(image.brokers)
    if topic in image.topics.by_name or wanted <= there:
        return None
    return (
        f"{setting.name}={wanted}, but there is {_brokers(there)}: {topic} {CANNOT_BE_CREATED}, and {purpose} "
        f"are not served. Set {setting.name}={max(1, there)} in server.properties and restart the broker"
    )


def _default_replicas(config: BrokerConfig, image: MetadataImage) -> Iterator[str]:
    wanted, there = config.get(node.DEFAULT_REPLICATION_FACTOR), len(image.brokers)
    if wanted > there:
        name = node.DEFAULT_REPLICATION_FACTOR.name
        yield (
            f"{name}={wanted}, but there is {_brokers(there)}: a topic that is created without a replication factor is "
            f"refused. Set {name}={max(1, there)} in server.properties and restart the broker"
        )


def _brokers(count: int) -> str:
    return "only 1 broker" if count == 1 else f"only {count} brokers" if count else "no broker"


def _stored_settings(image: MetadataImage) -> Iterator[str]:
    """Those of topics and of client metrics; those of brokers are told where they are applied (`node_config`)."""
    found: dict[tuple[ResourceType, str, str], list[str]] = {}
    for resource, overrides in image.configs.items():
        refused = _REFUSED.get(resource.type, {})
        for problem in unusable({name: overrides[name] for name in refused if name in overrides}, refused):
            found.setdefault((resource.type, problem.name, problem.reason), []).append(resource.name)
    for (kind, name, reason), owners in sorted(found.items()):
        several = "" if len(owners) == 1 else "s"
        yield f"{name} is stored for {_OWNERS[kind]}{several} {_some(owners)}, and has no effect: {reason}"


def _some(names: list[str]) -> str:
    names = sorted(names)
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def _unenforced(image: MetadataImage) -> Iterator[str]:
    step = "they are kept for the day you go back to Apache Kafka; until then let only hosts that you trust connect"
    for count, what in (
        (len(image.acls), "ACLs"),
        (len(image.scram_credentials), "SCRAM credentials"),
        (len(image.delegation_tokens), "delegation tokens"),
        (len(image.client_quotas), "client quotas"),
    ):
        if count:
            yield f"the metadata log has {count} {what}, which are not enforced: {step}"
