"""What is to be seen of the pipeline, from where its users stand: the topics and the consumer group, nothing else."""

import time
from collections import deque
from dataclasses import dataclass, field

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.model.ids import TopicPartition
from tidelog_pipelines.traffic.answers import Answers
from tidelog_pipelines.traffic.results import ResultReader, ResultState
from tidelog_pipelines.traffic.shoppers import TOPICS

GROUPS = ("ecommerce-results", "ecommerce-dead_letters", "ecommerce-archive")  # of the queries of the job
RATE_OVER_S = 5.0


@dataclass(slots=True)
class Snapshot:
    uptime_s: float
    found: Answers
    rates: dict[str, float] = field(default_factory=dict)  # records a second, by topic
    lag: dict[str, int] = field(default_factory=dict)  # records, by query; without those that have said nothing yet
    latencies_ms: list[int] = field(default_factory=list)
    updates: int = 0


class Watch:
    def __init__(self, client: Client, *, speed: float = 1.0) -> None:
        """Begin to watch. Where the shop's time is not ours (`speed`), latency can not be told by it."""
        self._admin = Admin(client)
        self._has_latency = speed == 1
        self._reader = ResultReader(client)
        self._consumer = Consumer(client)
        self._began = time.monotonic()
        self._before: deque[tuple[float, dict[str, int]]] = deque()

    @property
    def state(self) -> ResultState:
        return self._reader.state

    def look(self, timeout_ms: int) -> Snapshot:
        self._reader.poll(timeout_ms)
        ends = self._consumer.end_offsets(
            topic_partition for topic in TOPICS for topic_partition in self._consumer.partitions(topic)
        )
        records = {
            topic: sum(end for topic_partition, end in ends.items() if topic_partition.topic == topic)
            for topic in TOPICS
        }
        return Snapshot(
            time.monotonic() - self._began,
            self.state.answers(records),
            self._rates(records),
            {group.partition("-")[2]: lag for group in GROUPS if (lag := self._lag(group, ends)) is not None},
            self.state.steady_latencies_ms if self._has_latency else [],
            self.state.updates,
        )

    def final_snapshot(self) -> Snapshot:
        """Return the snapshot after nobody writes any more: with everything that was committed."""
        self._reader.read_to_end()
        return self.look(0)

    def _rates(self, records: dict[str, int]) -> dict[str, float]:
        now = time.monotonic()
        self._before.append((now, records))
        while now - self._before[0][0] > RATE_OVER_S and len(self._before) > 2:
            self._before.popleft()
        then, before = self._before[0]
        return {topic: (records[topic] - before[topic]) / max(now - then, 1e-3) for topic in records}

    def _lag(self, group: str, ends: dict[TopicPartition, int]) -> int | None:
        """Return the lag as any Kafka tool would tell it: ends of the topics less what the group has committed. None:
        nothing yet."""
        try:
            committed = self._admin.list_group_offsets(group)
        except ClientError:
            return None
        behind = [
            ends[topic_partition] - offset.offset
            for topic_partition, offset in committed.items()
            if topic_partition in ends
        ]
        return max(0, sum(behind)) if behind else None
