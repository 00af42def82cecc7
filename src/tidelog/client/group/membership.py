"""A consumer's place in its group: heartbeats while it polls, and partitions that come and go.

There is no thread behind it. Heartbeats are sent from within `GroupConsumer.poll` and `GroupConsumer.commit`, so a
consumer that does neither for longer than the group's session timeout (`group.consumer.session.timeout.ms`, 45 s unless
configured) is put out of the group, and finds out when it comes back. That is the same bargain as
`max.poll.interval.ms` elsewhere, with one clock instead of two: a consumer that is stuck does not keep its partitions.
"""

from collections.abc import Callable, Sequence
from typing import Final

from tidelog.client.backoff import Backoff
from tidelog.client.client import WAIT_MS_MAX, Client
from tidelog.client.coordinators import MOVED, CoordinatorClient
from tidelog.client.errors import ClientError, error_code
from tidelog.client.group.member import REJOIN, GroupMember, MemberOptions
from tidelog.model.errors import RETRIABLE, ErrorCode
from tidelog.model.ids import TopicIdPartition, TopicPartition, Uuid
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

LEAVE_TIMEOUT_MS: Final = 3_000

OnPartitions = Callable[[list[TopicPartition]], None]


class Membership:
    def __init__(
        self,
        client: Client,
        groups: CoordinatorClient,
        options: MemberOptions,
        on_assigned: OnPartitions,
        on_revoked: OnPartitions,
        on_lost: OnPartitions,
    ) -> None:
        """Prepare to join. `on_revoked` is called while the partitions are still ours, `on_lost` when they are not any
        more."""
        self.member = GroupMember(options)
        self._client = client
        self._groups = groups
        self._on_assigned = on_assigned
        self._on_revoked = on_revoked
        self._on_lost = on_lost
        self._names: dict[Uuid, str] = {}
        self._backoff = Backoff(client.world.entropy)
        self._is_in_flight = False
        self._due_ms = 0
        self._error: ClientError | None = None

    @property
    def partitions(self) -> list[TopicPartition]:
        return self._topic_partitions(self.member.owned)

    def turn(self) -> None:
        """Take over a new target and send the heartbeat that is due. ClientError where the group has refused us."""
        if self._error is not None:
            raise self._error
        self._reconcile()
        now_ms = self._client.now_ms()
        is_due = now_ms >= self._due_ms or (self.member.has_news and self.member.interval_ms > 0)
        if not self._is_in_flight and is_due:
            self._send(now_ms)

    def learn_epoch(self) -> None:
        """Send a heartbeat at once and wait for its answer, because the coordinator is at a later epoch than we are."""
        self._due_ms = 0
        if not self._is_in_flight:
            self._send(self._client.now_ms())
        while self._is_in_flight:
            self._client.poll(WAIT_MS_MAX)
        if self._error is not None:
            raise self._error

    def leave(self) -> None:
        """Tell the coordinator that we leave. If that fails, no matter: the session timeout puts us out as well."""
        group_id, request = self.member.options.group_id, self.member.leave_request()
        node_id = self._groups.known(group_id)
        if node_id is not None and self._error is None:
            self._client.ask_once(request, f"leave group {group_id}", node_id, LEAVE_TIMEOUT_MS)

    # Heartbeats

    def _send(self, now_ms: int) -> None:
        node_id = self._groups.find(self.member.options.group_id)
        if node_id not in self._client.metadata.nodes:
            self._client.refresh()
        self._is_in_flight = True
        self._due_ms = now_ms + self.member.interval_ms
        self._client.send(node_id, self.member.request(), self._answered)

    def _answered(self, outcome: ConsumerGroupHeartbeatResponse | ClientError) -> None:
        self._is_in_flight = False
        code = outcome.code if isinstance(outcome, ClientError) else error_code(outcome.error_code)
        if not isinstance(outcome, ClientError) and code is ErrorCode.NONE:
            self._backoff.reset()
            self.member.accept(outcome)
        elif code in REJOIN:
            self._lose_all()
        elif code in RETRIABLE:
            self._try_again(code)
        else:
            self._error = outcome if isinstance(outcome, ClientError) else self._refusal(code, outcome.error_message)

    def _try_again(self, code: ErrorCode) -> None:
        if code in MOVED:
            self._groups.forget(self.member.options.group_id)
        self.member.not_heard()
        self._due_ms = self._client.now_ms() + self._backoff.next_ms()

    def _lose_all(self) -> None:
        lost = self.partitions
        self.member.begin_again()
        self._due_ms = 0
        if lost:
            self._on_lost(lost)

    def _refusal(self, code: ErrorCode, message: str | None) -> ClientError:
        return ClientError(code, f"take part in group {self.member.options.group_id}", self._client.name, message)

    # Partitions

    def _reconcile(self) -> None:
        """Move towards the target: first let go of partitions, and say so; then take the new ones, which other members
        have let go of before they were assigned to us."""
        member, wanted = self.member, self.member.target
        if wanted is None or sorted(wanted) == member.owned:
            return
        target = self._named(wanted)
        gone = [each for each in member.owned if each not in target]
        if gone and member.target is wanted:
            self._on_revoked(self._topic_partitions(gone))
            member.own(each for each in member.owned if each not in gone)
        added = [each for each in target if each not in member.owned]
        if added and member.target is wanted:
            self._on_assigned(self._topic_partitions(added))
            if member.is_joining:  # put out of the group while we looked up where to begin
                self._on_lost(self._topic_partitions(added))
            else:
                member.own([*member.owned, *added])

    def _topic_partitions(self, partitions: Sequence[TopicIdPartition]) -> list[TopicPartition]:
        return [TopicPartition(self._names[each.topic_id], each.partition) for each in partitions]

    def _named(self, wanted: Sequence[TopicIdPartition]) -> list[TopicIdPartition]:
        """Return the partitions whose topic we know the name of; a topic that is deleted by now has none."""
        unknown = dict.fromkeys(each.topic_id for each in wanted if each.topic_id not in self._names)
        if unknown:
            topics = [MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in unknown]
            self._client.ask_metadata(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
            known = {each.topic_id: name for name, each in self._client.metadata.topics.items()}
            self._names.update((topic_id, known[topic_id]) for topic_id in unknown if topic_id in known)
        return [each for each in wanted if each.topic_id in self._names]
