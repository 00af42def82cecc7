"""A consumer that shares the partitions of its topics with the other members of its group, and commits how far it is.

    with GroupConsumer(client, "billing") as consumer:
        consumer.subscribe(["orders"])
        for record in consumer:
            ...

Offsets are committed every `auto_commit_ms`, when partitions go to another member, and at the end: those of records
that `poll` has handed out before its last call, which the caller is taken to have dealt with. Whoever wants to decide
that for itself sets `auto_commit_ms=None` and calls `commit`. Heartbeats: see `group.membership`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tidelog.client.admin.group_offsets import (
    CommittedOffset,
    CommittingMember,
    Offsets,
    commit_offsets,
    fetch_offsets,
)
from tidelog.client.client import Client
from tidelog.client.coordinators import CoordinatorClient, CoordinatorType
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.group.member import MemberOptions
from tidelog.client.group.membership import Membership
from tidelog.client.producer.transaction_calls import GroupMetadata
from tidelog.client.record import LATEST
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, format_uuid
from tidelog.ports.entropy import random_uuid

AUTO_COMMIT_MS: Final = 5_000
_PUT_OUT: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION)


class GroupConsumer(Consumer):
    def __init__(
        self,
        client: Client,
        group_id: str,
        *,
        start: int = LATEST,
        auto_commit_ms: int | None = AUTO_COMMIT_MS,
        instance_id: str | None = None,
        rack_id: str | None = None,
        assignor: str | None = None,
        on_revoked: Callable[[list[TopicPartition]], None] | None = None,
        **options: Any,
    ) -> None:
        """Prepare a consumer; it joins with `subscribe`. `start`: EARLIEST or LATEST, for partitions of which the group
        has committed no offset. `instance_id` makes it a static member, whose partitions wait for it when it leaves.
        `assignor`: uniform or range. `on_revoked` is told of partitions that are about to go, and may `commit` them.
        The other options are those of a Consumer."""
        super().__init__(client, **options)
        self.group_id = group_id
        self._groups = CoordinatorClient(client, CoordinatorType.GROUP)
        self._start = start
        self._auto_commit_ms = auto_commit_ms
        self._commit_at_ms = 0
        self._tell_revoked = on_revoked
        member_id = format_uuid(random_uuid(client.world.entropy))
        self._member_options = MemberOptions(group_id, member_id, instance_id, rack_id, assignor)
        self._membership: Membership | None = None

    # The group

    def subscribe(self, topics: Sequence[str] = (), *, pattern: str | None = None) -> None:
        """Share these topics with the group, or those that the pattern (RE2) matches now or later."""
        if not topics and not pattern:
            raise ValueError("subscribe to topics, or to a pattern")
        if self._membership is None:
            self._membership = Membership(
                self.client, self._groups, self._member_options, self._assigned_now, self._revoked, self._lost
            )
            self._assigned.clear()
        self._membership.member.subscribe(topics, pattern)

    @property
    def group_metadata(self) -> GroupMetadata:
        """The member on whose behalf a transaction commits this consumer's offsets."""
        committer = self._committer()
        return GroupMetadata(self.group_id, committer.epoch, committer.member_id, committer.instance_id)

    @property
    def is_reconciled(self) -> bool:
        """Tell whether the consumer has the partitions that it is to have, as far as it knows: the coordinator may take
        a while before it assigns any (`group.consumer.assignment.interval.ms`)."""
        return self._membership is not None and self._membership.member.is_reconciled

    # Offsets

    def commit(self, offsets: Offsets | None = None) -> None:
        """Commit these offsets, or the positions of everything that is assigned. ClientError where that fails: the
        partitions may be another member's by now, which begins where the last commit was."""
        offsets = self.positions() if offsets is None else offsets
        deadline_ms = self.client.now_ms() + self.client.retry_timeout_ms
        while True:
            found = commit_offsets(self._groups, self.group_id, offsets, self._committer(), "commit the offset of")
            refused = [each for each in found.values() if each is not None]
            is_stale = any(each.code is ErrorCode.STALE_MEMBER_EPOCH for each in refused)
            if self._membership is None or not is_stale or self.client.now_ms() >= deadline_ms:
                break
            self._membership.learn_epoch()
        if refused:
            raise _explained(refused[0])

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, CommittedOffset]:
        """Return what the group has committed; a partition without a committed offset is left out."""
        return fetch_offsets(self._groups, self.group_id, partitions)

    def positions(self) -> dict[TopicPartition, int]:
        """Return the position of every assigned partition that has one by now."""
        return {
            topic_partition: state.position for topic_partition, state in self._assigned.items() if state.has_offset
        }

    def close(self) -> None:
        """Commit, unless `auto_commit_ms` is None, and leave the group. The client stays open."""
        try:
            if self._auto_commit_ms is not None and self._membership is not None:
                self.commit()
        finally:
            if self._membership is not None:
                self._membership.leave()
            super().close()

    def __exit__(self, *exception: object) -> None:
        """Close. After an exception nothing is committed: the caller has not dealt with all that it was handed."""
        if exception[0] is not None:
            self._auto_commit_ms = None
        self.close()

    # Behind the scenes

    def _committer(self) -> CommittingMember:
        if self._membership is None:
            return CommittingMember()
        member = self._membership.member
        return CommittingMember(member.options.member_id, member.epoch, member.options.instance_id)

    def _turn(self) -> None:
        if self._membership is None:
            return
        self._membership.turn()
        if not self._membership.member.is_joining:
            self._commit_now_and_then()

    def _commit_now_and_then(self) -> None:
        now_ms = self.client.now_ms()
        if self._auto_commit_ms is None or now_ms < self._commit_at_ms:
            return
        is_first, self._commit_at_ms = self._commit_at_ms == 0, now_ms + self._auto_commit_ms
        if not is_first:
            self._try_to_commit()

    def _try_to_commit(self) -> None:
        """Commit, unless the group has put this member out: its next heartbeat will tell it so, and the records after
        the last commit are read again."""
        try:
            self.commit()
        except ClientError as error:
            if error.code not in _PUT_OUT:
                raise

    def _assigned_now(self, partitions: list[TopicPartition]) -> None:
        committed = fetch_offsets(self._groups, self.group_id, partitions, require_stable=True)
        self._add(
            {topic_partition: _start_of(committed, topic_partition, self._start) for topic_partition in partitions}
        )

    def _revoked(self, partitions: list[TopicPartition]) -> None:
        if self._tell_revoked is not None:
            self._tell_revoked(partitions)
        if self._auto_commit_ms is not None:
            self._try_to_commit()
        self._lost(partitions)

    def _lost(self, partitions: list[TopicPartition]) -> None:
        self._remove(partitions)


def _start_of(committed: Mapping[TopicPartition, CommittedOffset], topic_partition: TopicPartition, start: int) -> int:
    return committed[topic_partition].offset if topic_partition in committed else start


def _explained(error: ClientError) -> ClientError:
    if error.code not in _PUT_OUT:
        return error
    message = "the group went on without this member, which was not heard of in time"
    return ClientError(error.code, error.asked, error.of, message, "poll again: it joins anew, from the last commit")
