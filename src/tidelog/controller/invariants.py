"""What is true of every partition after every record, whoever decided it. Checked by tests and simulations after each
step; an operator's metadata that breaks one is a bug of ours or of an earlier release.
"""

from collections.abc import Iterator

from tidelog.controller.indexes import Indexes
from tidelog.controller.state import ControllerState
from tidelog.metadata.topics import NO_LEADER, LeaderRecoveryState, Partition


def violations(state: ControllerState) -> Iterator[str]:
    if state.indexes != Indexes.of(state.metadata):
        yield "the indexes do not follow from the metadata"
    for topic in state.metadata.topics.by_id.values():
        if topic.partition_ids() != list(range(len(topic.partitions))) or not topic.partitions:
            yield f"{topic.name}: partitions are not numbered from 0"
        for partition_id, partition in topic.partitions.items():
            for reason in _violations_of(state, partition):
                yield f"{topic.name}-{partition_id}: {reason} in {partition}"


def _violations_of(state: ControllerState, partition: Partition) -> Iterator[str]:
    if len(dict.fromkeys(partition.replicas)) != len(partition.replicas) or not partition.replicas:
        yield "replicas are not distinct"
    if len(partition.directories) != len(partition.replicas):
        yield "not one directory a replica"
    if any(each not in partition.replicas for each in (*partition.isr, *partition.elr)):
        yield "in sync or eligible, but no replica"
    if any(each in partition.elr for each in partition.isr):
        yield "in sync and eligible at once"
    if not partition.isr and not state.elr_enabled and not partition.elr:
        yield "nobody in sync"
    if partition.has_leader:
        yield from _violations_of_led(state, partition)


def _violations_of_led(state: ControllerState, partition: Partition) -> Iterator[str]:
    if partition.leader not in partition.isr:
        yield "the leader is not in sync"
    leader = state.metadata.brokers.get(partition.leader)
    if leader is None or not leader.is_active:
        yield "the leader is fenced, shutting down or not registered"
    if partition.leader_recovery_state is LeaderRecoveryState.RECOVERING and len(partition.isr) != 1:
        yield "somebody is in sync with a leader that still recovers"


def epochs_went_back(before: Partition, after: Partition) -> str | None:
    """Say why `after` cannot have come after `before`; None where it can."""
    if after.leader_epoch < before.leader_epoch or after.partition_epoch < before.partition_epoch:
        return "an epoch went back"
    if after != before and after.partition_epoch == before.partition_epoch:
        return "a change without a new partition epoch"
    if after.leader not in (before.leader, NO_LEADER) and after.leader_epoch == before.leader_epoch:
        return "a new leader without a new leader epoch"
    return None
