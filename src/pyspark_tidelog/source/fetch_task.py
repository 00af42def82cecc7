"""What one Spark task reads: a range of one partition, and how. Made on the driver, pickled to the worker.

Settings only: the worker connects for itself, because a connection does not pickle, and because the process that reads
may be another one for every micro-batch.
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
    topic_id: Uuid | None  # of the topic that was planned for; None: whichever has the name
    partition: int
    start: int
    end: int  # exclusive
    columns: tuple[str, ...]
    fail_on_data_loss: bool
    leader: KnownLeader | None = None  # as of planning

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)
