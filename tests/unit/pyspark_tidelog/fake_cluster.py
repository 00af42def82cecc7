"""A cluster that is a few lists: topics with logs that have a beginning, an end and times. The view, the client and its
metadata are real; only what a broker would say is made up.
"""

from dataclasses import dataclass, field
from typing import Any, cast

from tests.unit.client.scripted import ScriptedClient

from pyspark_tidelog.kafka.cluster import ClusterView
from pyspark_tidelog.kafka.settings import ClusterOptions
from tidelog.client.client import Client
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


@dataclass
class FakeLog:
    first: int = 0
    end: int = 0
    stable_end: int | None = None  # the last stable offset
    times: dict[int, int] = field(default_factory=dict)  # of the records, by offset
    error: ErrorCode = ErrorCode.NONE
    leader: int = 1

    def answer(self, time: int, read_committed: bool) -> int:
        end = self.stable_end if read_committed and self.stable_end is not None else self.end
        if time < 0:
            return self.first if time == -2 else end
        young = [offset for offset, at in self.times.items() if at >= time and self.first <= offset < end]
        return min(young, default=-1)


class FakeCluster:
    def __init__(self) -> None:
        self.topics: dict[str, list[FakeLog]] = {}
        self.ids: dict[str, Uuid] = {}
        self.internal: set[str] = set()
        self.errors: dict[str, ErrorCode] = {}  # of topics, in the metadata
        self.down: list[Any] = []  # what comes instead of an answer, as long as there is any
        self.bootstrap = "host:9092"
        self.patience: list[bool] = []  # of each client that was asked for
        self.on_ask: list[Any] = []  # called one after the other, before an answer
        self.client = ScriptedClient(retry_timeout_ms=60_000)
        self.client.answers = {"Metadata": [self._metadata], "ListOffsets": [self._list_offsets]}

    def create(self, topic: str, *ends: int) -> list[FakeLog]:
        """Anew, if it is there: another id."""
        self.topics[topic] = [FakeLog(end=end) for end in ends]
        number = int.from_bytes(self.ids.get(topic, b"\0"), "big") + 1
        self.ids[topic] = Uuid(number.to_bytes(16, "big"))
        return self.topics[topic]

    def view(self, *, read_committed: bool = False) -> ClusterView:
        return ClusterView(cast(ClusterOptions, self), read_committed=read_committed)

    def connect(self, *, is_patient: bool = False) -> Client:
        self.patience.append(is_patient)
        return self.client

    def asked(self, kind: type) -> list[Any]:
        return self.client.requests(kind)

    def _instead(self) -> Any:
        if self.on_ask:
            self.on_ask.pop(0)()
        return self.down.pop(0) if self.down else None

    def _metadata(self, request: MetadataRequest) -> Any:
        if (instead := self._instead()) is not None:
            return instead
        if request.topics is None:
            names = list(self.topics)
        else:
            names = [each.name or "" for each in request.topics]
        broker = MetadataResponseBroker(node_id=1, host="host", port=9092)
        return MetadataResponse(brokers=[broker], topics=[self._topic(name) for name in names])

    def _topic(self, name: str) -> MetadataResponseTopic:
        code = self.errors.get(name, ErrorCode.NONE if name in self.topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        partitions = [
            MetadataResponsePartition(
                error_code=0, partition_index=index, leader_id=log.leader, replica_nodes=[1], isr_nodes=[1]
            )
            for index, log in enumerate(self.topics.get(name, []))
        ]
        return MetadataResponseTopic(
            error_code=code,
            name=name,
            topic_id=self.ids.get(name, Uuid(bytes(16))),
            is_internal=name in self.internal,
            partitions=[] if code else partitions,
        )

    def _list_offsets(self, request: ListOffsetsRequest) -> Any:
        if (instead := self._instead()) is not None:
            return instead
        topics = [
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[self._offset(topic.name, each, bool(request.isolation_level)) for each in topic.partitions],
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics)

    def _offset(self, topic: str, asked: ListOffsetsPartition, read_committed: bool) -> ListOffsetsPartitionResponse:
        index = asked.partition_index
        logs = self.topics.get(topic, [])
        if index >= len(logs) or logs[index].error:
            code = logs[index].error if index < len(logs) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
        offset = logs[index].answer(asked.timestamp, read_committed)
        return ListOffsetsPartitionResponse(partition_index=index, error_code=0, offset=offset)
