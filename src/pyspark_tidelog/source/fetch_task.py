"""What one Spark task reads: a range of one partition, and how. It is made on the driver and pickled to the worker.

It holds settings only: the worker connects for itself, because a connection does not pickle, and because every
micro-batch may be read by another process.
"""

from dataclasses import dataclass

from pyspark_tidelog.kafka.settings import ClusterOptions, FetchSettings
from tidelog.client.fetch.fetch_ahead import KnownLeader
from tidelog.model.ids import TopicPartition, Uuid


@dataclass(frozen=True, slots=True)
class FetchTask:
    cluster: ClusterOptions
    fetch: FetchSettings
    topic: str
    topic_id: Uuid | None  # the id of the topic at planning; None: whichever topic has the name
    partition: int
    start: int
    end: int  # exclusive
    columns: tuple[str, ...]
    fail_on_data_loss: bool
    leader: KnownLeader | None = None  # as of planning

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
