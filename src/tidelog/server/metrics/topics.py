"""Metrics of topics and of the logs of their partitions.

A deleted topic's series end with it. There is no series of all topics together, as Kafka has it: it would be counted
twice by everybody who sums up.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tidelog.server.hosting.topic_counters import TopicMetrics
from tidelog.server.metrics.declaration import Family, Kind, Read, Sample, Section, one
from tidelog.server.metrics.scrape import PARTITION_LABELS
from tidelog.storage.log.log import Log

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape


def _each_topic(read: Callable[[TopicMetrics], int]) -> Read:
    def samples(scrape: "Scrape") -> Iterable[Sample]:
        return [((each.topic,), read(each)) for each in list(scrape.broker.hosted.metrics.values())]

    return samples


def _each_log(read: Callable[[Log], int]) -> Read:
    def samples(scrape: "Scrape") -> Iterable[Sample]:
        return ((labels, read(partition.log)) for labels, partition in scrape.hosted())

    return samples


def _topic(name: str, bean: str, help_text: str, read: Callable[[TopicMetrics], int]) -> Family:
    return Family(
        f"kafka_server_brokertopicmetrics_{name}_total",
        Kind.COUNTER,
        help_text,
        _each_topic(read),
        ("topic",),
        f"kafka.server:type=BrokerTopicMetrics,name={bean},topic=*",
    )


def _log(name: str, bean: str, help_text: str, read: Callable[[Log], int]) -> Family:
    kafka = f"kafka.log:type=Log,name={bean},topic=*,partition=*"
    return Family(f"kafka_log_log_{name}", Kind.GAUGE, help_text, _each_log(read), PARTITION_LABELS, kafka)


def _replicas(name: str, bean: str, help_text: str, read: Callable[["Scrape"], int]) -> Family:
    kafka = f"kafka.server:type=ReplicaManager,name={bean}"
    return Family(f"kafka_server_replicamanager_{name}", Kind.GAUGE, help_text, one(read), (), kafka)


TOPIC_METRICS = Section(
    "Topics",
    (
        _topic("messagesin", "MessagesInPerSec", "Records appended.", lambda each: each.messages_in),
        _topic("bytesin", "BytesInPerSec", "Bytes appended, as they were sent.", lambda each: each.bytes_in),
        _topic("bytesout", "BytesOutPerSec", "Bytes handed to consumers.", lambda each: each.bytes_out),
        _topic(
            "totalproducerequests",
            "TotalProduceRequestsPerSec",
            "Batches that producers asked to append, by partition.",
            lambda each: each.produces,
        ),
        _topic(
            "totalfetchrequests",
            "TotalFetchRequestsPerSec",
            "Reads of a partition for a fetch; one that waits reads again when there may be enough.",
            lambda each: each.fetches,
        ),
        _topic(
            "failedproducerequests",
            "FailedProduceRequestsPerSec",
            "Of the batches, those that were refused.",
            lambda each: each.failed_produces,
        ),
        _topic(
            "failedfetchrequests",
            "FailedFetchRequestsPerSec",
            "Of the reads, those that were refused.",
            lambda each: each.failed_fetches,
        ),
    ),
    "A deleted topic's series end with it. There is no series for all topics together: sum them up.",
)

REPLICA_METRICS = Section(
    "Partitions of this broker",
    (
        _replicas(
            "partitioncount",
            "PartitionCount",
            "Partitions that this broker hosts.",
            lambda scrape: len(scrape.broker.hosted.by_topic_partition),
        ),
        _replicas("leadercount", "LeaderCount", "Of these, those it leads.", lambda scrape: scrape.survey.leaders),
        _replicas(
            "offlinereplicacount",
            "OfflineReplicaCount",
            "Of these, those in a log directory that failed.",
            lambda scrape: scrape.survey.offline,
        ),
        _replicas(
            "underreplicatedpartitions",
            "UnderReplicatedPartitions",
            "Led here, and a replica is out of sync.",
            lambda scrape: scrape.survey.under_replicated,
        ),
        _replicas(
            "underminisrpartitioncount",
            "UnderMinIsrPartitionCount",
            "Led here, and too few in sync for acks=all.",
            lambda scrape: scrape.survey.under_min_isr,
        ),
        _replicas(
            "atminisrpartitioncount",
            "AtMinIsrPartitionCount",
            "Led here, and just enough in sync for acks=all.",
            lambda scrape: scrape.survey.at_min_isr,
        ),
        _log("size", "Size", "Bytes of the log's segments.", lambda log: log.size_bytes),
        _log("numlogsegments", "NumLogSegments", "Segments of the log.", lambda log: len(log.segments)),
        _log("logstartoffset", "LogStartOffset", "The first offset.", lambda log: log.log_start_offset),
        _log("logendoffset", "LogEndOffset", "The next offset.", lambda log: log.log_end_offset),
    ),
)
