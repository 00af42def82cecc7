"""A coordinator, and groups of every kind in the states that matter to offsets."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.offset_groups import Coordinated

from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.member import ClassicMember
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.records.classic import GroupMetadataKey
from tidelog.coordinator.group.shard import CommitPartitionCheck, GroupType
from tidelog.coordinator.requests import KeyValue
from tidelog.model.decisions import Record
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid


@pytest.fixture
def at() -> Coordinated:
    return Coordinated({"a": 4, "b": 2}, offset_metadata_max_bytes="10")


def classic_group(
    at: Coordinated, state: ClassicState, group_id: str = "g", *, instance: str | None = None
) -> ClassicGroup:
    """Add a classic group in generation 3 with one member, `m` (none in state Empty)."""
    group = ClassicGroup(group_id, at.shard.timers, at.wall_ms, generation=3)
    if state is not ClassicState.EMPTY:
        group.add(ClassicMember("m", instance, "client", "/host", 60_000, 10_000, "consumer", (("range", b""),)))
    else:
        group.protocol_type_or_none = "consumer"
    group.state = state
    at.shard.groups[group_id] = group
    return group


@dataclass
class OtherGroup:
    """A group whose answers the test sets: the rules of other protocols' groups are tested elsewhere."""

    group_id: str = "g"
    type: GroupType = GroupType.CONSUMER
    state_name: str = "Stable"
    protocol_type: str = "consumer"
    is_empty: bool = False
    refusal: ErrorCode | None = None
    not_assigned: tuple[tuple[Uuid, int], ...] = ()
    subscribed: tuple[str, ...] = ()
    base_ms: int | None = -1  # -1: the time of the commit
    asked: tuple[Any, ...] = ()  # the arguments of its last validation
    heard_of: tuple[int, str] | None = None

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CommitPartitionCheck | None:
        self.asked = (member_id, group_instance_id, generation, is_transactional, api_version)
        self._refuse()
        return self._check if self.not_assigned else None

    def _check(self, topic_id: Uuid, partition: int) -> None:
        if (topic_id, partition) in self.not_assigned:
            raise ApiError(ErrorCode.STALE_MEMBER_EPOCH)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        self.asked = (member_id, member_epoch)
        self._refuse()

    def validate_offset_delete(self) -> None:
        self._refuse()

    def validate_delete(self) -> None:
        self._refuse()

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise ApiError(self.refusal)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms if self.base_ms == -1 else self.base_ms

    def expires_subscribed(self) -> bool:
        return self.is_empty

    def tombstones(self) -> list[Record]:
        return [(KeyValue(GroupMetadataKey(group=self.group_id), None), 3)]

    def after_offset_commit(self, now_ms: int, member_id: str) -> None:
        self.heard_of = (now_ms, member_id)

    def printed(self) -> dict[str, Any]:
        return {}
