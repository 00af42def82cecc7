"""The ids of events just before an offset, from the log: what `repeats` asks for when it has not seen them itself.

Only events that count are remembered, here as there: one that came in pieces first and whole a second later is no
repeat. The rules for a single record are those that the traffic's truth goes by.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark_tidelog.kafka.settings import ClusterOptions, FetchSettings
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.record_batches import record_batches
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.offsets import list_offsets
from tidelog.model.ids import TopicPartition
from tidelog_pipelines.ecommerce.events import EventTopics
from tidelog_pipelines.traffic.rules import event_or_reason, is_robot


@dataclass(frozen=True, slots=True)
class TopicLog:
    """An EventLog that reads topics. It goes into every task, and connects only when it is asked."""

    cluster: ClusterOptions
    fetch: FetchSettings
    topics: EventTopics

    @property
    def name(self) -> str:
        return self.cluster.bootstrap

    def ids(self, topic: str, partition: int, start: int, end: int, since_ms: int) -> Iterator[tuple[str, int]]:
        if start >= end:
            return
        with self.cluster.connect(is_patient=True) as client:
            start = max(start, offset_at(client, TopicPartition(topic, partition), since_ms, end))
        task = FetchTask(
            self.cluster,
            self.fetch,
            topic,
            None,
            partition,
            start,
            end,
            ("value", "timestamp"),
            fail_on_data_loss=False,
        )
        for batch in record_batches(task):
            times_us = batch.column("timestamp").cast("int64").to_pylist()
            for value, time_us in zip(batch.column("value").to_pylist(), times_us, strict=True):
                event_id = counted_id(self.topics.kind(topic), value, time_us // 1000)
                if event_id is not None:
                    yield event_id, time_us // 1000


def offset_at(client: Client, topic_partition: TopicPartition, time_ms: int, end: int) -> int:
    """Return the offset of the first record that is not older than a time; `end` where there is none."""
    found = list_offsets(client, {topic_partition: max(0, time_ms)})[topic_partition]
    if isinstance(found, ClientError):
        raise found
    return end if found.offset < 0 else min(found.offset, end)


def counted_id(kind: str, value: bytes | None, timestamp_ms: int) -> str | None:
    """Return the id of the event in a record; None where the record does not count."""
    event = event_or_reason(kind, value or b"", timestamp_ms)
    if isinstance(event, str) or is_robot(kind, event):
        return None
    event_id: str = event["event_id"]
    return event_id
