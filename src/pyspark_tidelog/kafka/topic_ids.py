"""The ids of topics, as text: a topic that was deleted and made anew has the same name and another id."""

from collections.abc import Iterable

from tidelog.client.client import Client
from tidelog.model.ids import ZERO_UUID, format_uuid
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic


def topic_ids(client: Client, topics: Iterable[str]) -> dict[str, str]:
    """Ask the cluster; without the topics that it does not have, or whose ids an old broker does not tell."""
    names = sorted({*topics})
    if not names:
        return {}
    asked = [MetadataRequestTopic(name=name) for name in names]
    client.ask_metadata(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
    return known_ids(client, names)


def known_ids(client: Client, topics: Iterable[str]) -> dict[str, str]:
    """As the client has heard of them last."""
    found = ((name, client.metadata.topics.get(name)) for name in topics)
    return {
        name: format_uuid(topic.topic_id) for name, topic in found if topic is not None and topic.topic_id != ZERO_UUID
    }
