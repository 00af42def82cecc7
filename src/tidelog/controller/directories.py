"""AssignReplicasToDirs: a broker says in which log directory its replicas have come to lie. If that directory has gone
offline meanwhile, the replica leaves the ISR at once: nobody would report it again.
"""

from dataclasses import replace

from tidelog.controller.partition_changes import ElectionRules, change_partition
from tidelog.controller.results import SLICE, Record, Result, Slices, Steps
from tidelog.controller.state import ControllerState
from tidelog.metadata.nodes import Broker
from tidelog.metadata.record_versions import record_version
from tidelog.metadata.records.topics import PartitionChangeRecord
from tidelog.metadata.topics import Topic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestTopicData,
    AssignReplicasToDirsResponse,
    AssignReplicasToDirsResponseDirectoryData,
    AssignReplicasToDirsResponsePartitionData,
    AssignReplicasToDirsResponseTopicData,
)


def assign_replicas_to_dirs(state: ControllerState, request: AssignReplicasToDirsRequest) -> Steps:
    try:
        if not state.directories_supported:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "this metadata.version has no log directories")
        state.check_broker_epoch(request.broker_id, request.broker_epoch)
    except ApiError as error:
        return Result([], AssignReplicasToDirsResponse(throttle_time_ms=0, error_code=error.code, directories=[]))
    assigning = _Assigning(state, state.metadata.brokers[request.broker_id])
    directories = []
    for directory in request.directories:
        topics = yield from assigning.assign_all(directory.topics, Uuid(directory.id))
        directories.append(AssignReplicasToDirsResponseDirectoryData(id=directory.id, topics=topics))
    response = AssignReplicasToDirsResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, directories=directories)
    return Result(assigning.records, response, is_atomic=False)


class _Assigning:
    def __init__(self, state: ControllerState, broker: Broker) -> None:
        self.records: list[Record] = []
        self._state = state
        self._broker = broker
        self._version = record_version(PartitionChangeRecord, state.metadata.metadata_version)

    def assign_all(
        self, asked: list[AssignReplicasToDirsRequestTopicData], directory: Uuid
    ) -> Slices[list[AssignReplicasToDirsResponseTopicData]]:
        rows: list[AssignReplicasToDirsResponseTopicData] = []
        for topic in asked:
            row = yield from self._assign(topic, directory)
            rows += [row]
        return rows

    def _assign(
        self, asked: AssignReplicasToDirsRequestTopicData, directory: Uuid
    ) -> Slices[AssignReplicasToDirsResponseTopicData]:
        topic = self._state.metadata.topics.by_id.get(Uuid(asked.topic_id))
        rules = self._rules(topic, directory) if topic else None
        rows = []
        for count, each in enumerate(asked.partitions, start=1):
            code = ErrorCode.UNKNOWN_TOPIC_ID
            if topic and rules:
                code = self._assign_one(topic, each.partition_index, directory, rules)
            rows.append(
                AssignReplicasToDirsResponsePartitionData(partition_index=each.partition_index, error_code=code)
            )
            if count % SLICE == 0:
                yield
        return AssignReplicasToDirsResponseTopicData(topic_id=asked.topic_id, partitions=rows)

    def _rules(self, topic: Topic, directory: Uuid) -> ElectionRules:
        rules = self._state.election_rules(topic)
        broker, may_lead = self._broker, rules.is_acceptable_leader
        if broker.has_online_log_dir(directory):
            return rules
        return replace(
            rules, is_acceptable_leader=lambda partition, each: each != broker.id and may_lead(partition, each)
        )

    def _assign_one(self, topic: Topic, partition_id: int, directory: Uuid, rules: ElectionRules) -> ErrorCode:
        broker, partition = self._broker, topic.partitions.get(partition_id)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if broker.id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        isr = partition.isr
        if not broker.has_online_log_dir(directory):
            isr = tuple(each for each in isr if each != broker.id)
        placed = (broker.id, directory)
        record = change_partition(topic.id, partition_id, partition, rules, isr=isr, directory=placed)
        if record is not None:
            self.records.append((record, self._version))
        return ErrorCode.NONE
