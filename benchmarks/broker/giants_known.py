"""Requests of thousands of elements that name what is there: 5,000 partitions of one topic, and 5,000 topics of one.

`giants` sends names that nobody knows, which end at the first look; these reach the logs, the coordinators and the
controller. All go to one node, in this order: the last ones change what the others name.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.broker.heavy import batch_of
from benchmarks.coordinators.admin import AdminConnection
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages import (
    alter_configs,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
    txn_offset_commit,
)

COUNT = 5_000
WIDE, GROUP, TRANSACTION = "wide", "g", "t"
SETTING = "retention.ms"
NAMES = [f"t{index}" for index in range(COUNT)]
TIMEOUT_MS = 60_000
PATIENCE_SECONDS = 120.0

Known = tuple[str, Any, int]  # what it is, the request, its version


class KnownTopics:
    """A node's topics, and requests that name them."""

    def __init__(self, admin: AdminConnection) -> None:
        self._asking = admin
        self._ids: dict[str, Uuid] = {}

    def create(self) -> None:
        """Create the topics and wait for the last partition, and for the coordinators."""
        for key_type in (0, 1):
            self._until(self._coordinator(key_type))
        for topics in ([_topic(WIDE, COUNT)], [_topic(name, 1) for name in NAMES]):
            self._asking.ask(create_topics.CreateTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS), 7)
        answer = self._asking.ask(metadata.MetadataRequest(topics=None), 12)
        self._ids = {each.name: each.topic_id for each in answer.topics}
        self._until(self._is_served)

    def _coordinator(self, key_type: int) -> Callable[[], bool]:
        request = find_coordinator.FindCoordinatorRequest(key=GROUP, key_type=key_type)
        return lambda: self._asking.ask(request, 3).error_code == ErrorCode.NONE

    def _is_served(self) -> bool:
        answer = self._asking.ask(self.offsets(), 7)
        return all(each.error_code == ErrorCode.NONE for topic in answer.topics for each in topic.partitions)

    def _until(self, is_so: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            if time.monotonic() > until:
                raise RuntimeError("the topics or their coordinators are not there")
            time.sleep(0.2)

    def requests(self) -> Iterator[Known]:
        """Yield the requests, each made when its time has come."""
        yield "Produce, 9,800 partitions", self.batches(), 13
        yield "Produce, 9,800 partitions again", self.batches(), 13
        yield "Fetch, 10,000 partitions", self.fetches(), 18
        yield "Metadata of all", metadata.MetadataRequest(topics=None), 13
        yield "Metadata, 5,000 topics", self.names(), 13
        yield "ListOffsets, 10,000 partitions", self.offsets(), 7
        yield "DescribeConfigs, 5,000 topics", self.settings(), 4
        yield "OffsetCommit, 10,000 partitions", self.commits(), 9
        yield "TxnOffsetCommit, 10,000 partitions", self.commits_in_transaction(), 5
        yield "OffsetFetch of all", self.committed(), 8
        yield "DescribeLogDirs of all", describe_log_dirs.DescribeLogDirsRequest(topics=None), 4
        yield "DescribeProducers, 5,000 partitions", self.producers(), 0
        yield "DeleteRecords, 5,000 partitions", self.deletions(), 2
        yield "IncrementalAlterConfigs, 5,000 topics", self.changes(), 1
        yield "AlterConfigs, 5,000 topics", self.settings_anew(), 2
        yield "CreatePartitions, 5,000 topics", self.more_partitions(), 3
        yield "DeleteTopics, 5,000 topics", self.topics_to_delete(), 6

    # Of the data

    def batches(self) -> produce.ProduceRequest:
        records = memoryview(batch_of([b"x"]))

        def data(topic: str, indexes: range) -> produce.TopicProduceData:
            partitions = [produce.PartitionProduceData(index=index, records=records) for index in indexes]
            return produce.TopicProduceData(topic_id=self._ids[topic], partition_data=partitions)

        topics = [data(WIDE, range(COUNT)), *(data(name, range(1)) for name in NAMES[:2_400])]
        return produce.ProduceRequest(transactional_id=None, acks=-1, timeout_ms=TIMEOUT_MS, topic_data=topics)

    def fetches(self) -> fetch.FetchRequest:
        def wanted(topic: str, indexes: range) -> fetch.FetchTopic:
            partitions = [
                fetch.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1_000) for index in indexes
            ]
            return fetch.FetchTopic(topic_id=self._ids[topic], partitions=partitions)

        topics = [wanted(WIDE, range(COUNT)), *(wanted(name, range(1)) for name in NAMES)]
        return fetch.FetchRequest(max_wait_ms=100, min_bytes=1, topics=topics, forgotten_topics_data=[])

    def offsets(self) -> list_offsets.ListOffsetsRequest:
        def wanted(topic: str, indexes: range) -> list_offsets.ListOffsetsTopic:
            partitions = [list_offsets.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in indexes]
            return list_offsets.ListOffsetsTopic(name=topic, partitions=partitions)

        topics = [wanted(WIDE, range(COUNT)), *(wanted(name, range(1)) for name in NAMES)]
        return list_offsets.ListOffsetsRequest(replica_id=-1, topics=topics)

    def producers(self) -> describe_producers.DescribeProducersRequest:
        wide = describe_producers.TopicRequest(name=WIDE, partition_indexes=list(range(COUNT)))
        return describe_producers.DescribeProducersRequest(topics=[wide])

    def deletions(self) -> delete_records.DeleteRecordsRequest:
        partitions = [delete_records.DeleteRecordsPartition(partition_index=index, offset=1) for index in range(COUNT)]
        topic = delete_records.DeleteRecordsTopic(name=WIDE, partitions=partitions)
        return delete_records.DeleteRecordsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)

    # Of the coordinators

    def commits(self) -> offset_commit.OffsetCommitRequest:
        def of(topic: str, indexes: range) -> offset_commit.OffsetCommitRequestTopic:
            partitions = [
                offset_commit.OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=1, committed_metadata=""
                )
                for index in indexes
            ]
            return offset_commit.OffsetCommitRequestTopic(name=topic, partitions=partitions)

        topics = [of(WIDE, range(COUNT)), *(of(name, range(1)) for name in NAMES[: COUNT - 10])]
        return offset_commit.OffsetCommitRequest(group_id=GROUP, member_id="", topics=topics)

    def commits_in_transaction(self) -> txn_offset_commit.TxnOffsetCommitRequest:
        def of(topic: str, indexes: range) -> txn_offset_commit.TxnOffsetCommitRequestTopic:
            partitions = [
                txn_offset_commit.TxnOffsetCommitRequestPartition(
                    partition_index=index, committed_offset=1, committed_metadata=""
                )
                for index in indexes
            ]
            return txn_offset_commit.TxnOffsetCommitRequestTopic(name=topic, partitions=partitions)

        producer = self._producer()
        return txn_offset_commit.TxnOffsetCommitRequest(
            transactional_id=TRANSACTION,
            group_id=GROUP,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            topics=[of(WIDE, range(COUNT)), *(of(name, range(1)) for name in NAMES[: COUNT - 10])],
        )

    def _producer(self) -> Any:
        found: list[Any] = []

        def is_given() -> bool:
            request = init_producer_id.InitProducerIdRequest(
                transactional_id=TRANSACTION, transaction_timeout_ms=TIMEOUT_MS
            )
            found.append(self._asking.ask(request, 4))
            return bool(found[-1].error_code == ErrorCode.NONE)

        self._until(is_given)
        return found[-1]

    def committed(self) -> offset_fetch.OffsetFetchRequest:
        return offset_fetch.OffsetFetchRequest(
            groups=[offset_fetch.OffsetFetchRequestGroup(group_id=GROUP, topics=None)]
        )

    # Of the controller

    def names(self) -> metadata.MetadataRequest:
        return metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=name) for name in NAMES])

    def settings(self) -> describe_configs.DescribeConfigsRequest:
        resources = [
            describe_configs.DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
            for name in NAMES
        ]
        return describe_configs.DescribeConfigsRequest(resources=resources)

    def changes(self) -> incremental_alter_configs.IncrementalAlterConfigsRequest:
        setting = incremental_alter_configs.AlterableConfig(name=SETTING, config_operation=0, value="1000000")
        resources = [
            incremental_alter_configs.AlterConfigsResource(resource_type=2, resource_name=name, configs=[setting])
            for name in NAMES
        ]
        return incremental_alter_configs.IncrementalAlterConfigsRequest(resources=resources, validate_only=False)

    def settings_anew(self) -> alter_configs.AlterConfigsRequest:
        setting = alter_configs.AlterableConfig(name=SETTING, value="2000000")
        resources = [
            alter_configs.AlterConfigsResource(resource_type=2, resource_name=name, configs=[setting]) for name in NAMES
        ]
        return alter_configs.AlterConfigsRequest(resources=resources, validate_only=False)

    def more_partitions(self) -> create_partitions.CreatePartitionsRequest:
        topics = [create_partitions.CreatePartitionsTopic(name=name, count=2, assignments=None) for name in NAMES]
        return create_partitions.CreatePartitionsRequest(topics=topics, timeout_ms=TIMEOUT_MS, validate_only=False)

    def topics_to_delete(self) -> delete_topics.DeleteTopicsRequest:
        topics = [delete_topics.DeleteTopicState(name=name, topic_id=Uuid(bytes(16))) for name in NAMES]
        return delete_topics.DeleteTopicsRequest(topics=topics, timeout_ms=TIMEOUT_MS)


def _topic(name: str, partitions: int) -> create_topics.CreatableTopic:
    return create_topics.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
    )
