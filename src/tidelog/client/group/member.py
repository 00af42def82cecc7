"""A member of a consumer group (KIP-848): what it tells in its next heartbeat, and what the answers mean.

    joining (epoch 0) -> member (epoch n) -> left (epoch -1, a static member -2)
        ^---- fenced, or forgotten ----+

The coordinator decides who reads what. It sends a *target*; the member lets go of what is no longer in it, says so, and
gets the rest once others have let go. What has not changed is left out of a heartbeat; after one that may not have
arrived everything is said again. Here is nothing but the bookkeeping: no sockets, no clock of its own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicIdPartition, Uuid
from tidelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

JOINING: Final = 0
LEAVING: Final = -1
LEAVING_FOR_A_WHILE: Final = -2  # a static member's, whose partitions wait for it
REJOIN: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)


@dataclass(slots=True)
class MemberOptions:
    group_id: str
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    assignor: str | None = None  # None: the coordinator's default
    rebalance_timeout_ms: int = 300_000


class GroupMember:
    def __init__(self, options: MemberOptions) -> None:
        self.options = options
        self.epoch = JOINING
        self.interval_ms = 0  # the coordinator's answers say how long it is
        self.target: list[TopicIdPartition] | None = None  # None: the coordinator has sent none yet
        self.owned: list[TopicIdPartition] = []
        self._topics: list[str] = []
        self._regex: str | None = None
        self._told_subscription = False
        self._told_owned: list[TopicIdPartition] | None = None  # None: the next heartbeat says everything

    def subscribe(self, topics: Sequence[str], regex: str | None) -> None:
        self._topics, self._regex = sorted(topics), regex
        self._told_subscription = False

    @property
    def is_joining(self) -> bool:
        return self.epoch == JOINING

    @property
    def has_news(self) -> bool:
        """Tell whether there is something that should not wait for the next heartbeat that is due."""
        return self.epoch == JOINING or not self._told_subscription or self._told_owned != self.owned

    @property
    def is_reconciled(self) -> bool:
        """Tell whether the member owns what it is to own, and the coordinator knows."""
        return (
            self.epoch > JOINING and self.target is not None and sorted(self.target) == self.owned == self._told_owned
        )

    def own(self, partitions: Iterable[TopicIdPartition]) -> None:
        self.owned = sorted(partitions)

    def request(self) -> ConsumerGroupHeartbeatRequest:
        """Return the next heartbeat, and take what it says for told."""
        options = self.options
        request = ConsumerGroupHeartbeatRequest(
            group_id=options.group_id,
            member_id=options.member_id,
            member_epoch=self.epoch,
            instance_id=options.instance_id,
        )
        is_whole = self.epoch == JOINING or self._told_owned is None
        if is_whole:
            request.rack_id, request.server_assignor = options.rack_id, options.assignor
            request.rebalance_timeout_ms = options.rebalance_timeout_ms
        if is_whole or not self._told_subscription:
            request.subscribed_topic_names, request.subscribed_topic_regex = self._topics, self._regex
        if is_whole or self._told_owned != self.owned:
            request.topic_partitions = _by_topic(self.owned)
        self._told_subscription, self._told_owned = True, list(self.owned)
        return request

    def leave_request(self) -> ConsumerGroupHeartbeatRequest:
        epoch = LEAVING if self.options.instance_id is None else LEAVING_FOR_A_WHILE
        options = self.options
        return ConsumerGroupHeartbeatRequest(
            group_id=options.group_id,
            member_id=options.member_id,
            member_epoch=epoch,
            instance_id=options.instance_id,
        )

    def not_heard(self) -> None:
        """Say everything again: it is not known whether the last heartbeat has arrived."""
        self._told_owned = None

    def accept(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """Take over what a response without an error says."""
        if response.member_id:
            self.options.member_id = response.member_id
        self.epoch, self.interval_ms = response.member_epoch, response.heartbeat_interval_ms
        if response.assignment is not None:
            found = response.assignment.topic_partitions
            self.target = [TopicIdPartition(each.topic_id, index) for each in found for index in each.partitions]

    def begin_again(self) -> None:
        """Join anew. The group went on without us: what we had may be another member's by now."""
        self.epoch, self.target, self.owned = JOINING, None, []
        self.not_heard()


def _by_topic(partitions: Iterable[TopicIdPartition]) -> list[TopicPartitions]:
    found: dict[Uuid, TopicPartitions] = {}
    for each in partitions:
        found.setdefault(each.topic_id, TopicPartitions(topic_id=each.topic_id, partitions=[]))
        found[each.topic_id].partitions.append(each.partition)
    return list(found.values())
