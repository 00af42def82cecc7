"""Topics: create, list, describe, delete, and add partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.client.admin.base import AdminBase, Outcomes, only
from tidelog.client.errors import ClientError
from tidelog.client.metadata import TopicMetadata
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tidelog.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from tidelog.protocol.messages.metadata import MetadataRequest

BROKER_DEFAULT = -1


@dataclass(slots=True)
class NewTopic:
    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)  # replicas by partition; then no counts


@dataclass(slots=True)
class CreatedTopic:
    name: str
    topic_id: Uuid
    partitions: int
    replication_factor: int
    configs: dict[str, str | None]  # every setting of the topic; empty where the broker does not tell


@dataclass(slots=True)
class PartitionDescription:
    index: int
    leader: int  # -1: none
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]
    eligible_leader_replicas: list[int] = field(default_factory=list)
    last_known_elr: list[int] = field(default_factory=list)


@dataclass(slots=True)
class TopicDescription:
    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: list[PartitionDescription]


class TopicAdmin(AdminBase):
    def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, timeout_ms: int = 30_000
    ) -> Outcomes[CreatedTopic]:
        asked = "create topic " + ", ".join(topic.name for topic in topics)
        body = [_creatable(topic) for topic in topics]
        request = CreateTopicsRequest(topics=body, timeout_ms=timeout_ms, validate_only=validate_only)
        response = self.client.ask(request, asked, failed=lambda each: common_code(each.topics))
        return {
            each.name: self.refusal(each.error_code, f"create topic {each.name}", each.error_message) or _created(each)
            for each in response.topics
        }

    def create_topic(self, topic: NewTopic, *, validate_only: bool = False, timeout_ms: int = 30_000) -> CreatedTopic:
        return only(self.create_topics([topic], validate_only=validate_only, timeout_ms=timeout_ms), topic.name)

    def list_topics(self, *, include_internal: bool = False) -> list[TopicMetadata]:
        """List the topics, by name."""
        self.client.ask_metadata(MetadataRequest(topics=None, allow_auto_topic_creation=False))
        topics = self.client.metadata.topics.values()
        return sorted((each for each in topics if include_internal or not each.is_internal), key=lambda each: each.name)

    def describe_topics(self, names: Sequence[str]) -> Outcomes[TopicDescription]:
        """Describe the topics, with eligible leader replicas where the broker tells. The answer is fetched page by
        page, so that it may have any size."""
        found: Outcomes[TopicDescription] = {}
        cursor: Cursor | None = None
        asked = "describe topic " + ", ".join(names)
        while True:
            request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in names], cursor=cursor)
            response = self.client.ask(request, asked)
            for each in response.topics:
                self._add_page(found, each)
            cursor = response.next_cursor
            if cursor is None:
                return found

    def describe_topic(self, name: str) -> TopicDescription:
        return only(self.describe_topics([name]), name)

    def _add_page(self, found: Outcomes[TopicDescription], page: DescribeTopicPartitionsResponseTopic) -> None:
        name = page.name or ""
        known = found.get(name)
        if isinstance(known, TopicDescription):
            known.partitions += _partitions(page)
            return
        refused = self.refusal(page.error_code, f"describe topic {name}")
        found[name] = refused or TopicDescription(name, page.topic_id, page.is_internal, _partitions(page))

    def delete_topics(self, names: Sequence[str], *, timeout_ms: int = 30_000) -> dict[str, ClientError | None]:
        """Delete the topics; return for each None, or the error that says why it is still there."""
        states = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in names]
        request = DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)
        asked = "delete topic " + ", ".join(names)
        response = self.client.ask(request, asked, failed=lambda each: common_code(each.responses))
        return {
            each.name: self.refusal(each.error_code, f"delete topic {each.name}", each.error_message)
            for each in response.responses
        }

    def delete_topic(self, name: str, *, timeout_ms: int = 30_000) -> None:
        refused = self.delete_topics([name], timeout_ms=timeout_ms)[name]
        if refused is not None:
            raise refused

    def create_partitions(
        self,
        topic: str,
        count: int,
        *,
        assignments: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
        timeout_ms: int = 30_000,
    ) -> None:
        """Raise the number of partitions to `count`; `assignments` are the replicas of each new partition."""
        placed = None if assignments is None else [CreatePartitionsAssignment(broker_ids=list(a)) for a in assignments]
        topics = [CreatePartitionsTopic(name=topic, count=count, assignments=placed)]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=timeout_ms, validate_only=validate_only)
        asked = f"raise topic {topic} to {count} partitions"
        response = self.client.ask(request, asked, failed=lambda each: common_code(each.results))
        for each in response.results:
            self.require(each.error_code, asked, each.error_message)


def common_code(items: Sequence[object]) -> int:
    """Return the code that every item of a response has; NONE where they differ. A controller that moved refuses all
    items, and only then is it safe to ask again: items that were done would be refused the second time."""
    codes = {int(item.error_code) for item in items}  # type: ignore[attr-defined]
    return codes.pop() if len(codes) == 1 else ErrorCode.NONE


def _creatable(topic: NewTopic) -> CreatableTopic:
    placed = [CreatableReplicaAssignment(partition_index=p, broker_ids=list(b)) for p, b in topic.assignments.items()]
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=placed,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


def _created(result: CreatableTopicResult) -> CreatedTopic:
    configs = {each.name: each.value for each in result.configs or []}
    return CreatedTopic(result.name, result.topic_id, result.num_partitions, result.replication_factor, configs)


def _partitions(page: DescribeTopicPartitionsResponseTopic) -> list[PartitionDescription]:
    return [
        PartitionDescription(
            index=each.partition_index,
            leader=each.leader_id,
            leader_epoch=each.leader_epoch,
            replicas=each.replica_nodes,
            isr=each.isr_nodes,
            offline=each.offline_replicas,
            eligible_leader_replicas=each.eligible_leader_replicas or [],
            last_known_elr=each.last_known_elr or [],
        )
        for each in page.partitions
    ]
