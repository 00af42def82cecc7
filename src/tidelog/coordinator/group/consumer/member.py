"""One member of a consumer group: what it said of itself, and how far it is with its assignment. A member is a value: a
change makes a new one.

    STABLE                 it has what its epoch's target assignment gives it
    UNREVOKED_PARTITIONS   it has partitions to give back, and keeps its epoch until it has
    UNRELEASED_PARTITIONS  some partitions that it is to get still belong to others
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, TypeAlias

from tidelog.coordinator.group.records.consumer import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)
from tidelog.model.ids import Uuid

JOINING_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2  # the member will be back under its instance id, and keeps what it has

# By topic id and partition: the epoch in which the member got the partition.
Assigned: TypeAlias = Mapping[Uuid, Mapping[int, int]]
NOTHING: Final[Assigned] = {}


class MemberState(IntEnum):
    """The state of a member, by the numbers that records have. UNKNOWN: a later release wrote it."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


_STATES: Final = {int(state): state for state in MemberState}


@dataclass(slots=True)
class ConsumerMember:
    member_id: str
    epoch: int = JOINING_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()  # subscribed by name: sorted, each once
    regex: str | None = ""
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None  # only a member that speaks the classic protocol has it
    assigned: Assigned = field(default_factory=dict)
    pending_revocation: Assigned = field(default_factory=dict)

    @property
    def is_classic(self) -> bool:
        return self.classic is not None

    @property
    def classic_protocols(self) -> list[ClassicProtocol]:
        return [] if self.classic is None else self.classic.supported_protocols

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def assignment_epoch(self, topic_id: Uuid, partition: int) -> int | None:
        """Return the epoch in which the member got the partition, even if it is to give it back; None: it does not have
        it."""
        for assigned in (self.assigned, self.pending_revocation):
            epochs = assigned.get(topic_id)
            if epochs is not None and partition in epochs:
                return epochs[partition]
        return None

    def copied(self) -> "ConsumerMember":
        """Return an equal member, which the caller changes before anybody else sees it. All arguments in one call:
        `dataclasses.replace` takes three times as long, and every heartbeat with news makes members."""
        return ConsumerMember(
            self.member_id,
            self.epoch,
            self.previous_epoch,
            self.state,
            self.instance_id,
            self.rack_id,
            self.rebalance_timeout_ms,
            self.client_id,
            self.client_host,
            self.topics,
            self.regex,
            self.server_assignor,
            self.classic,
            self.assigned,
            self.pending_revocation,
        )

    def with_description(self, value: ConsumerGroupMemberMetadataValue) -> "ConsumerMember":
        described = self.copied()
        described.instance_id, described.rack_id = value.instance_id, value.rack_id
        described.rebalance_timeout_ms = value.rebalance_timeout_ms
        described.client_id, described.client_host = value.client_id, value.client_host
        described.topics = sorted_names(value.subscribed_topic_names)
        described.regex, described.server_assignor = value.subscribed_topic_regex, value.server_assignor
        described.classic = value.classic_member_metadata
        return described

    def with_assignment(
        self, epoch: int, previous_epoch: int, state: MemberState, assigned: Assigned, pending_revocation: Assigned
    ) -> "ConsumerMember":
        moved = self.copied()
        moved.epoch, moved.previous_epoch, moved.state = epoch, previous_epoch, state
        moved.assigned, moved.pending_revocation = assigned, pending_revocation
        return moved

    def with_current_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "ConsumerMember":
        return self.with_assignment(
            value.member_epoch,
            value.previous_member_epoch,
            _STATES.get(value.state, MemberState.UNKNOWN),
            _read_assigned(value.assigned_partitions, value.member_epoch),
            _read_assigned(value.partitions_pending_revocation, value.member_epoch),
        )

    def without_assignment(self) -> "ConsumerMember":
        """Return the member as the tombstone of its assignment leaves it, until the tombstone of the member itself
        follows."""
        return self.with_assignment(LEAVE_EPOCH, LEAVE_EPOCH, self.state, NOTHING, NOTHING)


def sorted_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(dict.fromkeys(names)))


def _read_assigned(topics: Iterable[TopicPartitions], member_epoch: int) -> Assigned:
    """Return partitions with their assignment epochs. Records from before there were these have the member's epoch
    only, which is negative for a member that left."""
    assigned = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if not epochs or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        assigned[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return assigned
