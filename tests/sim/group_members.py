"""Members of groups on a simulated node, of both protocols: they join, do as they are told, commit for the partitions
they own, and now and then leave, die, or send a request under an old identity.

A member owns the partitions that it was told last and has not been told to give up. Two may believe that they own a
partition only while one of them has not been heard of for a session: `claim` holds the node to that.
"""

from collections.abc import Callable
from typing import Any

from tests.sim.coordinator_clients import RETRIABLE, CoordinatorClient, CoordinatorScene, commit_request
from tests.sim.coordinator_ledger import Acknowledged, Place
from tests.unit.coordinator.consumer.classic_client import assignment, subscription

from tidelog.coordinator.group.consumer.embedded import read_assignment
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

SESSION_MS = 1_500  # also the rebalance timeout
BEAT_MS = 100
# After these a member joins as a new one, with nothing.
FORGOTTEN = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
)
# The answers to a commit of a client that is no member any more, or not in this epoch.
REFUSED = (
    *FORGOTTEN,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.REBALANCE_IN_PROGRESS,
)
Who = tuple[str, int, int]  # member id, generation or epoch, and since when


class Member(CoordinatorClient):
    """A member of either kind: its identity, the partitions that it owns, its commits."""

    unrest = 0.004  # the chance to leave or die at each step
    commits = 0.4

    def __init__(self, scene: CoordinatorScene, number: int, group: str, instance_id: str | None = None) -> None:
        super().__init__(scene, number)
        self.group = group
        self.instance_id = instance_id
        self.member_id = ""
        self.epoch = -1
        self.since_ms = 0  # when it heard of its epoch
        self.owned: dict[Place, None] = {}
        self.confirmed_ms = 0  # when it sent the last request that was answered without error
        self.past: list[tuple[Who, Place]] = []  # its identity when it owned the partition
        self.refused = 0  # commits
        self._beat_ms = 0

    @property
    def who(self) -> str:
        return f"{self.member_id or self.number}@{self.epoch}"

    # Ownership

    def claim(self, topic_partitions: list[Place]) -> None:
        self.release([topic_partition for topic_partition in self.owned if topic_partition not in topic_partitions])
        heard_of_ms = max(self.scene.now_ms - SESSION_MS, self.scene.lost_ms)
        for topic_partition in topic_partitions:
            owners = self.scene.owners.setdefault((self.group, topic_partition), {})
            rivals = [each for each in owners if each is not self and each.confirmed_ms > heard_of_ms]
            assert not rivals, f"{topic_partition} of {self.group} went to {self.who}, and is {rivals[0].who}'s"
            owners[self] = None
            self.owned[topic_partition] = None

    def release(self, topic_partitions: list[Place]) -> None:
        for topic_partition in topic_partitions:
            self.owned.pop(topic_partition, None)
            self.scene.owners[self.group, topic_partition].pop(self, None)
            self.past = [*self.past[-5:], ((self.member_id, self.epoch, self.since_ms), topic_partition)]

    def forget(self) -> None:
        self.release(list(self.owned))
        self.member_id, self.epoch = "", -1

    # Its life

    def act(self) -> None:
        if not self.scene.is_calm and self.member_id and self.scene.chance(self.unrest):
            self.scene.random.choice([self._die, self.leave, self._sleep])()
        elif self.past and self.scene.chance(0.02):
            who, topic_partition = self.scene.random.choice(self.past)
            self._commit(who, topic_partition)
        elif self.owned and self.scene.chance(self.commits):
            topic_partition = self.scene.random.choice(list(self.owned))
            self._commit((self.member_id, self.epoch, self.since_ms), topic_partition)
        elif self.scene.now_ms >= self._beat_ms or not self.is_reconciled:
            self._beat_ms = self.scene.now_ms + BEAT_MS
            self.go_on()
        else:
            self.pause(BEAT_MS // 4)

    def _die(self) -> None:
        self.hang_up()
        self.forget()
        self.pause(2 * SESSION_MS)

    def _sleep(self) -> None:
        """Send nothing for a while. It wakes with its old identity, which may be fenced by then."""
        self.wakes_ms = self.scene.now_ms + self.scene.random.choice([SESSION_MS // 2, 2 * SESSION_MS])

    def _commit(self, who: Who, topic_partition: Place) -> None:
        member_id, epoch, since_ms = who
        commits, value = (
            self.scene.ledger.of(self.group, topic_partition),
            self.scene.next_commit(f"{member_id}@{epoch}"),
        )
        sent_ms = self.scene.now_ms
        commits.send(value)

        def answered(answer: Any) -> None:
            code = ErrorCode(answer.topics[0].partitions[0].error_code)
            if code is ErrorCode.NONE:
                # After a power loss the coordinator may give out the same epoch again, so it counts from now on.
                known_ms = since_ms if since_ms > self.scene.lost_ms else self.scene.now_ms
                commits.acknowledge(Acknowledged(value, sent_ms, self.scene.now_ms, member_id, epoch, known_ms))
            elif code in REFUSED:
                commits.refuse(value)
                self.refused += 1
            else:
                assert code in RETRIABLE, code

        self.ask(commit_request(self.group, topic_partition, value, member_id, epoch, self.instance_id), 9, answered)

    @property
    def is_reconciled(self) -> bool:
        raise NotImplementedError

    def go_on(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        raise NotImplementedError


class ConsumerMember(Member):
    """A member of the KIP-848 protocol."""

    def __init__(self, scene: CoordinatorScene, number: int, group: str, instance_id: str | None = None) -> None:
        super().__init__(scene, number, group, instance_id)
        self.lives = 0
        self._is_heard = False  # the last request was answered, so the next one need only carry changes

    @property
    def is_reconciled(self) -> bool:
        return self.epoch > 0

    def go_on(self) -> None:
        if not self.member_id:
            self.lives += 1
            self.member_id, self.epoch = f"member-{self.number}-{self.lives}", 0
        topics = sorted({topic for topic, _partition in self.scene.topic_partitions})
        is_new, says_all = self.epoch == 0, self.epoch == 0 or not self._is_heard
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=SESSION_MS if says_all else -1,
            subscribed_topic_names=topics if says_all else None,
            topic_partitions=[] if is_new else self._owned(),
        )
        sent_ms, self._is_heard = self.scene.now_ms, False
        self.ask(request, 1, lambda answer: self._answered(answer, sent_ms))

    def _owned(self) -> list[TopicPartitions]:
        by_topic: dict[Uuid, list[int]] = {}
        for topic, partition in self.owned:
            by_topic.setdefault(self._topics()[topic], []).append(partition)
        return [TopicPartitions(topic_id=each, partitions=partitions) for each, partitions in by_topic.items()]

    def _topics(self) -> dict[str, Uuid]:
        return {topic.name: topic.id for topic in self.scene.world.running.broker.image.topics.by_id.values()}

    def _answered(self, answer: Any, sent_ms: int) -> None:
        code = ErrorCode(answer.error_code)
        self._is_heard = code is ErrorCode.NONE
        if code is ErrorCode.NONE:
            self.since_ms = self.since_ms if self.epoch == answer.member_epoch else self.scene.now_ms
            self.epoch, self.confirmed_ms = answer.member_epoch, sent_ms
            if answer.assignment is not None:
                names = {topic_id: name for name, topic_id in self._topics().items()}
                told = [
                    (names[each.topic_id], partition)
                    for each in answer.assignment.topic_partitions
                    for partition in each.partitions
                ]
                is_changed = told != list(self.owned)
                self.claim(told)
                if is_changed:
                    self._beat_ms = 0  # it reports the change at once
        elif code in FORGOTTEN:
            self.forget()
        else:
            assert code in (*RETRIABLE, ErrorCode.UNRELEASED_INSTANCE_ID), (code, answer.error_message)
            self.pause(50)

    def leave(self) -> None:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group, member_id=self.member_id, member_epoch=-1, instance_id=self.instance_id
        )
        self.forget()
        self.ask(request, 1, lambda _answer: self.pause(SESSION_MS))


class ClassicMember(Member):
    """An eager classic member: it gives everything up before it joins again. As leader it deals out the partitions in
    turn."""

    def __init__(self, scene: CoordinatorScene, number: int, group: str, instance_id: str | None = None) -> None:
        super().__init__(scene, number, group, instance_id)
        self.is_to_join = True
        self._deal: dict[str, list[Place]] | None = None  # what the leader will assign; None: it has synced

    @property
    def is_reconciled(self) -> bool:
        return not self.is_to_join and self._deal is None

    def forget(self) -> None:
        super().forget()
        self.is_to_join, self._deal = True, None

    def go_on(self) -> None:
        if self.is_to_join:
            self._join()
        elif self._deal is not None:
            self._sync(self._deal)
        else:
            self._beat()

    def _join(self) -> None:
        self.release(list(self.owned))
        topics = tuple(sorted({topic for topic, _partition in self.scene.topic_partitions}))
        protocol = JoinGroupRequestProtocol(name="range", metadata=subscription(topics))
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        self.ask(request, 9, self._joined)

    def _joined(self, answer: Any) -> None:
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            self.member_id, self.epoch, self.since_ms = answer.member_id, answer.generation_id, self.scene.now_ms
            self.is_to_join, self._deal = False, {}
            if answer.leader == answer.member_id and not answer.skip_assignment:
                self._deal = dealt([each.member_id for each in answer.members], self.scene.topic_partitions)
        elif code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif code in FORGOTTEN:
            self.forget()
        else:
            assert code in (*RETRIABLE, ErrorCode.REBALANCE_IN_PROGRESS), code
            self.pause(50)

    def _sync(self, deal: dict[str, list[Place]]) -> None:
        given = [
            SyncGroupRequestAssignment(member_id=member_id, assignment=assignment(by_topic(topic_partitions)))
            for member_id, topic_partitions in deal.items()
        ]
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=given,
        )
        sent_ms = self.scene.now_ms

        def synced(answer: Any) -> None:
            self._deal, self.confirmed_ms = None, sent_ms
            told = read_assignment(answer.assignment) if answer.assignment else None
            self.claim([(each.topic, p) for each in told.assigned_partitions for p in each.partitions] if told else [])

        self.ask(request, 5, lambda answer: self._told(answer, lambda: synced(answer)))

    def _beat(self) -> None:
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        sent_ms, asked = self.scene.now_ms, self.scene.group_machine(self.group)

        def confirmed() -> None:
            """Count the heartbeat, unless a coordinator that was still loading may have answered it: like Kafka's, it
            says yes to anybody, because it does not know its members yet."""
            if asked is not None and self.scene.group_machine(self.group) is asked:
                self.confirmed_ms = sent_ms

        self.ask(request, 4, lambda answer: self._told(answer, confirmed))

    def _told(self, answer: Any, go_on: Callable[[], None]) -> None:
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            go_on()
        elif code in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            self.release(list(self.owned))
            self.is_to_join, self._deal = True, None
        elif code in FORGOTTEN:
            self.forget()
        else:
            assert code in RETRIABLE, code
            self.pause(50)

    def leave(self) -> None:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        self.forget()
        self.ask(LeaveGroupRequest(group_id=self.group, members=[identity]), 5, lambda _answer: self.pause(SESSION_MS))


class ChangingMember(CoordinatorClient):
    """A member that may change its protocol from one life to the next: its group is being upgraded, or downgraded."""

    def __init__(self, scene: CoordinatorScene, number: int, group: str) -> None:
        super().__init__(scene, number)
        self.kinds: list[Member] = [ConsumerMember(scene, number, group), ClassicMember(scene, number, group)]
        self.current = scene.random.choice(self.kinds)

    def step(self) -> None:
        before = self.current.member_id
        self.current.step()
        self.heard = sum(each.heard for each in self.kinds)
        if before and not self.current.member_id and not self.scene.is_calm:
            self.current = self.scene.random.choice(self.kinds)

    @property
    def owned(self) -> dict[Place, None]:
        return self.current.owned


def dealt(member_ids: list[str], topic_partitions: list[Place]) -> dict[str, list[Place]]:
    hands: dict[str, list[Place]] = {member_id: [] for member_id in member_ids}
    for index, topic_partition in enumerate(topic_partitions):
        hands[member_ids[index % len(member_ids)]].append(topic_partition)
    return hands


def by_topic(topic_partitions: list[Place]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for topic, partition in topic_partitions:
        found.setdefault(topic, []).append(partition)
    return found
