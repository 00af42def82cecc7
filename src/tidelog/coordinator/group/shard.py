"""What the parts of one group coordinator share: one partition of `__consumer_offsets`, its groups and offsets.

Durable is what `replay` wrote: groups (their records), offsets. Volatile are timers, members that wait, heartbeats.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tidelog.config import BrokerConfig
from tidelog.config.group_config import GroupConfig
from tidelog.coordinator.group.consumer.topic_hashes import TopicHashes
from tidelog.coordinator.timers import Timers
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.image import MetadataImage
from tidelog.model.decisions import Record
from tidelog.model.ids import Uuid
from tidelog.ports.entropy import Entropy

if TYPE_CHECKING:
    from tidelog.coordinator.group.consumer.waiters import Crowd
    from tidelog.coordinator.group.offsets.offsets import Offsets


class GroupType(Enum):
    """A kind of group, by the name that ListGroups knows."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


# Called with topic id and partition; raises ApiError where the member may not commit that partition.
CommitPartitionCheck: TypeAlias = Callable[[Uuid, int], None]


class Group(Protocol):
    """The questions that every kind of group answers. ApiError says no."""

    group_id: str

    @property
    def type(self) -> GroupType: ...

    @property
    def state_name(self) -> str:
        """The state by Kafka's name: Empty, PreparingRebalance, CompletingRebalance, Stable, Dead, Assigning,
        Reconciling."""
        ...

    @property
    def protocol_type(self) -> str: ...

    @property
    def is_empty(self) -> bool:
        """Tell whether the group has no members. An id that was given out and not used to join yet is no member."""
        ...

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CommitPartitionCheck | None:
        """Raise unless the commit is allowed; return a check that each of its partitions has to pass besides, if any: a
        consumer group's member of an older epoch may commit what it has had since then (KIP-1251)."""
        ...

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None: ...

    def validate_offset_delete(self) -> None: ...

    def validate_delete(self) -> None: ...

    def is_subscribed_to(self, topic: str) -> bool: ...

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return from when (wall clock) `offsets.retention.minutes` counts for an offset of a topic that no member is
        subscribed to; None: it does not expire now."""
        ...

    def expires_subscribed(self) -> bool:
        """Tell whether offsets of subscribed topics may expire too, because the group has no members."""
        ...

    def tombstones(self) -> list[Record]:
        """Return the records that remove the group from the log, apart from its offsets."""
        ...

    def after_offset_commit(self, now_ms: int, member_id: str) -> None:
        """Note that a member that commits is alive (in classic groups its session begins anew)."""
        ...

    def printed(self) -> dict[str, Any]:
        """Return the whole state, for people and for comparing: plain values, in a fixed order."""
        ...


@dataclass(slots=True)
class GroupShard:
    config: BrokerConfig
    entropy: Entropy
    image: MetadataImage
    partition: int
    max_record_bytes: int  # the offsets topic's max.message.bytes: no record may be larger
    groups: dict[str, Group] = field(default_factory=dict)
    timers: Timers = field(default_factory=Timers)
    crowds: dict[str, "Crowd"] = field(default_factory=dict)  # members that wait for their assignment, by group
    topic_hashes: TopicHashes = field(default_factory=TopicHashes)
    counters: dict[str, int] = field(default_factory=dict)  # for metrics: rebalances, commits, expired offsets, ...
    has_line: Callable[[], bool] = lambda: False  # whether requests have come that were not handled yet
    note: Callable[[str], None] = lambda _line: None  # a line for the broker's log: who was fenced, and why
    offsets: "Offsets" = field(init=False)

    def group_config(self, group_id: str) -> GroupConfig:
        overrides = self.image.configs.get(ConfigResource(ResourceType.GROUP, group_id))
        return self.config.group_config(overrides or {})

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + by
