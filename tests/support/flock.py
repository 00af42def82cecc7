"""Consumers of confluent-kafka in groups, all polled by the test's own thread, so that a test says what happens when.

A `Flock` holds the members of one group over one topic while records flow. It always checks two things: a partition has
one owner at a time, and no record was consumed twice.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

WAIT_SECONDS_MAX = 45
HEARTBEAT_MS = 300
# A member hears of a rebalance with its next heartbeat; in the newer protocol the broker sets the interval.
BROKER_SETTINGS = {
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
    "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_MS,
}
CLASSIC = {"group.protocol": "classic", "heartbeat.interval.ms": HEARTBEAT_MS, "session.timeout.ms": 10_000}
CONSUMER = {"group.protocol": "consumer"}

Place = tuple[str, int]


class Member:
    def __init__(self, bootstrap: str, group: str, topics: Sequence[str], settings: dict[str, Any]) -> None:
        self.assigned: list[set[Place]] = []  # the partitions that each assignment added
        self.revoked: list[set[Place]] = []
        self.lost: list[set[Place]] = []
        self.consumed: list[tuple[str, int, int]] = []
        self.owned: set[Place] = set()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 200,
                "topic.metadata.refresh.interval.ms": 500,
                **settings,
            }
        )
        self._consumer.subscribe(
            list(topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def _on_assign(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned.append(topic_partitions(partitions))
        self.owned |= topic_partitions(partitions)

    def _on_revoke(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.revoked.append(topic_partitions(partitions))
        self.owned -= topic_partitions(partitions)

    def _on_lost(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.lost.append(topic_partitions(partitions))
        self.owned -= topic_partitions(partitions)

    def poll(self) -> None:
        """Poll records one by one: `consume` would hold back records which a revocation in the same call does not
        commit."""
        wait_s = 0.02
        while (message := self._consumer.poll(wait_s)) is not None:
            wait_s = 0
            assert message.error() is None, message.error()
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            self.consumed.append((topic, partition, offset))

    def close(self) -> None:
        """Commit what was consumed, and leave the group."""
        self._consumer.close()
        self.owned.clear()


def topic_partitions(partitions: list[TopicPartition]) -> set[Place]:
    return {(each.topic, each.partition) for each in partitions}


class Flock:
    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._partitions = partitions
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._admin = AdminClient({"bootstrap.servers": bootstrap})
        self.produced = 0
        self.members: list[Member] = []
        self.gone: list[Member] = []

    def join(self, **settings: Any) -> Member:
        member = Member(self._bootstrap, self._topic, [self._topic], settings)
        self.members.append(member)
        return member

    def leave(self, member: Member) -> None:
        self.members.remove(member)
        self.gone.append(member)
        member.close()

    def run_until(self, met: Callable[[], bool]) -> None:
        """Produce and poll until the condition is met."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while not met():
            assert time.monotonic() < deadline, [(sorted(each.owned), each.revoked) for each in self.members]
            self._produce()
            self._poll()

    def settle(self) -> None:
        """Run until every partition has an owner, no member has more than its share, and the coordinator calls the
        group stable: before that a member may have an epoch that is not the group's any more, and can not commit (nor
        can it on Apache)."""
        share = self._partitions // len(self.members)
        self.run_until(lambda: all(len(each.owned) == share for each in self.members) and self.is_stable())

    def is_stable(self) -> bool:
        return self.listed().state is ConsumerGroupState.STABLE

    def listed(self) -> Any:
        listed = self._admin.list_consumer_groups().result(WAIT_SECONDS_MAX).valid
        (mine,) = [each for each in listed if each.group_id == self._topic]
        return mine

    def finish(self) -> None:
        """Poll until all that was produced is consumed; then all members leave, and no record may have been consumed
        twice."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while len(self.consumed()) < self.produced:
            assert time.monotonic() < deadline, f"{len(self.consumed())} of {self.produced} records were consumed"
            self._poll()
        while self.members:
            self.leave(self.members[0])
        consumed = self.consumed()
        assert len(set(consumed)) == self.produced
        assert len(consumed) == self.produced, "some records were consumed twice"

    def consumed(self) -> list[tuple[str, int, int]]:
        return [each for member in (*self.members, *self.gone) for each in member.consumed]

    def _produce(self) -> None:
        for partition in range(self._partitions):
            self._producer.produce(self._topic, b"%d" % self.produced, partition=partition)
            self.produced += 1
        assert self._producer.flush(WAIT_SECONDS_MAX) == 0

    def _poll(self) -> None:
        for member in self.members:
            member.poll()
            owners = [topic_partition for each in self.members for topic_partition in each.owned]
            assert len(owners) == len(set(owners)), f"a partition has two owners: {sorted(owners)}"
