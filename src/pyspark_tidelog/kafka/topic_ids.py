"""The ids of topics, as text: a topic that was deleted and made anew has the same name and another id."""

from collections.abc import Iterable

from tidelog.client.client import Client
from tidelog.model.ids import ZERO_UUID, format_uuid
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic


def topic_ids(client: Client, topics: Iterable[str]) -> dict[str, str]:
    """Ask the cluster for the ids of topics. Topics that do not exist, or whose id an old broker does not tell, are
    left out."""
    names = sorted({*topics})
    if not names:
        return {}
    asked = [MetadataRequestTopic(name=name) for name in names]
    client.ask_metadata(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
    return known_ids(client, names)


def known_ids(client: Client, topics: Iterable[str]) -> dict[str, str]:
    """Return the ids that the client's metadata have, without asking; topics whose id is not known are left out."""
    found = ((name, client.metadata.topics.get(name)) for name in topics)
    return {
        name: format_uuid(topic.topic_id) for name, topic in found if topic is not None and topic.topic_id != ZERO_UUID
    }
