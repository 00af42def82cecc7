"""What happened to the metadata between two images, so that a broker looks only at what changed.

Each part is a dict used as a set that remembers its order: the order in which things first happened. What something
was, and what it became, stand in the image before and the image after. A topic that was made and deleted in between
leaves no trace. Apply deletions first: a topic may have been deleted and made again under the same name.
"""

from tidelog.metadata.client_quotas import QuotaEntity
from tidelog.metadata.configs import ConfigResource
from tidelog.metadata.security import ScramUser
from tidelog.metadata.topics import Topic, Topics
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclass import dataclass, field


@dataclass(slots=True)
class Changes:
    topics_deleted: dict[Uuid, Topic] = field(default_factory=dict)  # as they were
    topics_created: dict[Uuid, str] = field(default_factory=dict)  # their names
    partitions: dict[Uuid, dict[int, None]] = field(default_factory=dict)  # new or changed, by topic
    configs: dict[ConfigResource, None] = field(default_factory=dict)
    brokers: dict[int, None] = field(default_factory=dict)
    controllers: dict[int, None] = field(default_factory=dict)
    features: dict[str, None] = field(default_factory=dict)
    producer_ids: bool = False
    client_quotas: dict[QuotaEntity, None] = field(default_factory=dict)
    acls: dict[Uuid, None] = field(default_factory=dict)
    scram_credentials: dict[ScramUser, None] = field(default_factory=dict)
    delegation_tokens: dict[str, None] = field(default_factory=dict)

    # Worked out at the first question, then kept: each of many coordinators asks, and thousands of topics may change.
    _topic_names: dict[str, None] | None = None
    _deleted_names: dict[bytes, str] | None = None

    @property
    def is_empty(self) -> bool:
        return self == Changes()

    def topic_names(self, topics: Topics) -> dict[str, None]:
        """Return every topic that came, went or has other partitions, by name; `topics` are those of the image after.
        The caller must not change the answer."""
        if self._topic_names is None:
            found = (topics.by_id.get(topic_id) for topic_id in self.partitions)
            names = {topic.name: None for topic in found if topic is not None}
            names.update(dict.fromkeys(self.topics_created.values()))
            names.update(dict.fromkeys(topic.name for topic in self.topics_deleted.values()))
            self._topic_names = names
        return self._topic_names

    def deleted_names(self) -> dict[bytes, str]:
        """Return the names of the topics that went, by id. The caller must not change the answer."""
        if self._deleted_names is None:
            self._deleted_names = {topic_id: topic.name for topic_id, topic in self.topics_deleted.items()}
        return self._deleted_names

    def create_topic(self, topic_id: Uuid, name: str) -> None:
        self.topics_created[topic_id] = name

    def delete_topic(self, topic: Topic) -> None:
        self.partitions.pop(topic.id, None)
        if self.topics_created.pop(topic.id, None) is None:
            self.topics_deleted[topic.id] = topic

    def change_partition(self, topic_id: Uuid, partition_id: int) -> None:
        self.partitions.setdefault(topic_id, {})[partition_id] = None
