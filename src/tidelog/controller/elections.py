"""New leaders and ISRs for all the partitions that a change of one broker touches.

While the records are being made the metadata still shows the broker as it was, so what is about to be true comes as a
`BrokerChange`.
"""

from collections.abc import Iterable
from dataclasses import replace

from tidelog.controller.partition_changes import ElectionRules, change_partition
from tidelog.controller.results import SLICE, Record, Slices
from tidelog.controller.state import ControllerState
from tidelog.metadata.record_versions import record_version
from tidelog.metadata.records.topics import PartitionChangeRecord
from tidelog.metadata.topics import NO_LEADER, Partition
from tidelog.model.ids import TopicIdPartition, Uuid
from tidelog.model.lazy_dataclass import dataclass


@dataclass(slots=True, frozen=True)
class BrokerChange:
    """The change that is about to happen to one broker; at most one of the first three fields names a broker."""

    # The broker that leaves every ISR and leads nothing.
    leaving: int = NO_LEADER
    # The broker that leaves every ISR and may have lost records: it is not even eligible any more.
    lost: int = NO_LEADER
    # The broker that may lead from now on, though the metadata has it fenced.
    arriving: int = NO_LEADER
    # The directories that the arriving broker reports as failed.
    offline_directories: tuple[Uuid, ...] = ()


def elect(
    state: ControllerState, partitions: Iterable[TopicIdPartition], change: BrokerChange, records: list[Record]
) -> Slices[None]:
    """Append to `records` the changes of `partitions`. Those of one topic should stand together."""
    version = record_version(PartitionChangeRecord, state.metadata.metadata_version)
    topic_id, rules = None, None
    for count, spot in enumerate(partitions, start=1):
        topic = state.metadata.topics.by_id[spot.topic_id]
        if rules is None or topic_id != spot.topic_id:
            topic_id, rules = spot.topic_id, _rules_during(state, state.election_rules(topic), change)
        partition = topic.partitions[spot.partition]
        isr = [each for each in partition.isr if each not in (change.leaving, change.lost)]
        lost = () if change.lost == NO_LEADER else (change.lost,)
        record = change_partition(*spot, partition, rules, isr=isr, unclean_shutdown=lost)
        if record is not None:
            records.append((record, version))
        if count % SLICE == 0:
            yield


def _rules_during(state: ControllerState, rules: ElectionRules, change: BrokerChange) -> ElectionRules:
    def may_lead(partition: Partition, broker_id: int) -> bool:
        if broker_id in (change.leaving, change.lost):
            return False
        if broker_id != change.arriving:
            return state.may_lead(partition, broker_id)
        has_failed = partition.directory_of(broker_id) in change.offline_directories
        return not has_failed and state.has_online_directory(partition, broker_id)

    return replace(rules, is_acceptable_leader=may_lead)
