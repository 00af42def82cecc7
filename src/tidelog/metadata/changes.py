"""What happened to the metadata between two images, so that a broker looks only at what changed.

Each part is a dict used as a set that remembers its order: the order in which things first happened. What something
was, and what it became, stand in the image before and the image after. A topic that was made and deleted in between
leaves no trace. Apply deletions first: a topic may have been deleted and made again under the same name.
"""

from dataclasses import dataclass, field

from tidelog.metadata.client_quotas import QuotaEntity
from tidelog.metadata.configs import ConfigResource
from tidelog.metadata.security import ScramUser
from tidelog.metadata.topics import Topic
from tidelog.model.ids import Uuid


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

    @property
    def is_empty(self) -> bool:
        return self == Changes()

    def create_topic(self, topic_id: Uuid, name: str) -> None:
        self.topics_created[topic_id] = name

    def delete_topic(self, topic: Topic) -> None:
        self.partitions.pop(topic.id, None)
        if self.topics_created.pop(topic.id, None) is None:
            self.topics_deleted[topic.id] = topic

    def change_partition(self, topic_id: Uuid, partition_id: int) -> None:
        self.partitions.setdefault(topic_id, {})[partition_id] = None
