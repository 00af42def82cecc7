"""confluent-kafka (librdkafka), unmodified, in groups: rebalances while records flow, under both protocols.

Records flow all through every test of a rebalance, and in the end each was consumed once: members commit what they had
when a partition is taken from them.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.flock import BROKER_SETTINGS, CLASSIC, CONSUMER, WAIT_SECONDS_MAX, Flock, Member

from tidelog.testing import Broker, broker

PARTITIONS = 6
COOPERATIVE = {**CLASSIC, "partition.assignment.strategy": "cooperative-sticky"}


@pytest.fixture(scope="module")
def quick() -> Iterator[Broker]:
    with broker(BROKER_SETTINGS) as started:
        yield started


@pytest.fixture
def admin(quick: Broker) -> AdminClient:
    return AdminClient({"bootstrap.servers": quick.bootstrap_servers})


@pytest.fixture
def flock(quick: Broker, admin: AdminClient, topic: str) -> Flock:
    create(admin, topic, PARTITIONS)
    return Flock(quick.bootstrap_servers, topic, PARTITIONS)


def create(admin: AdminClient, topic: str, partitions: int) -> None:
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(WAIT_SECONDS_MAX)


def described(admin: AdminClient, group: str) -> Any:
    return admin.describe_consumer_groups([group])[group].result(WAIT_SECONDS_MAX)


@pytest.mark.parametrize("protocol", [COOPERATIVE, CONSUMER], ids=["cooperative-sticky", "consumer"])
def test_rebalances_take_away_only_what_moves(flock: Flock, protocol: Any) -> None:
    first = flock.join(**protocol)
    flock.settle()
    second = flock.join(**protocol)
    flock.settle()
    assert sum(map(len, first.revoked)) == 3
    third = flock.join(**protocol)
    flock.settle()
    assert sum(map(len, first.revoked)) == 4
    assert sum(map(len, second.revoked)) == 1
    flock.leave(second)
    flock.settle()
    assert sum(map(len, first.revoked)) == 4  # a partition that is freed is added to what members hold
    assert third.revoked == []
    assert [each.lost for each in (first, second, third)] == [[], [], []]
    flock.finish()


@pytest.mark.parametrize("protocol", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
def test_a_static_member_comes_back_to_what_it_had(flock: Flock, admin: AdminClient, topic: str, protocol: Any) -> None:
    first = flock.join(**protocol, **{"group.instance.id": "one"})
    second = flock.join(**protocol, **{"group.instance.id": "two"})
    flock.settle()
    flock.run_until(lambda: len(flock.consumed()) >= flock.produced - 2 * PARTITIONS)
    had, revoked_before = set(second.owned), len(first.revoked)
    before = {each.group_instance_id: each.member_id for each in described(admin, topic).members}
    flock.leave(second)
    assert len(described(admin, topic).members) == 2  # a static member stays in the group until its session ends
    again = flock.join(**protocol, **{"group.instance.id": "two"})
    flock.settle()
    assert again.owned == had
    assert len(first.revoked) == revoked_before
    after = {each.group_instance_id: each.member_id for each in described(admin, topic).members}
    assert after["one"] == before["one"]
    assert after["two"] != before["two"]
    flock.finish()


def test_a_regular_expression_finds_topics_that_come_later(quick: Broker, admin: AdminClient, topic: str) -> None:
    create(admin, f"{topic}-orders", 1)
    create(admin, f"other-{topic}-orders", 1)
    member = Member(quick.bootstrap_servers, topic, [f"^{topic}-.*s"], CONSUMER)
    wait_for_owned(member, {(f"{topic}-orders", 0)})
    create(admin, f"{topic}-returns", 2)
    create(admin, f"{topic}-return", 1)
    wait_for_owned(member, {(f"{topic}-orders", 0), (f"{topic}-returns", 0), (f"{topic}-returns", 1)})
    assert member.revoked == []
    member.close()


def wait_for_owned(member: Member, wanted: set[tuple[str, int]]) -> None:
    for _ in range(WAIT_SECONDS_MAX * 50):
        member.poll()
        if member.owned == wanted:
            return
    raise AssertionError(f"it has {sorted(member.owned)}, not {sorted(wanted)}")


def test_a_living_group_changes_its_protocol_and_back(flock: Flock) -> None:
    def replace(old: Member, settings: Any) -> Member:
        flock.leave(old)
        new = flock.join(**settings)
        flock.settle()
        return new

    members = [flock.join(**CLASSIC) for _ in range(3)]
    flock.settle()
    assert flock.listed().type == ConsumerGroupType.CLASSIC
    for index in range(3):
        members[index] = replace(members[index], CONSUMER)
        assert flock.listed().type == ConsumerGroupType.CONSUMER
    for index in range(3):
        assert flock.listed().type == ConsumerGroupType.CONSUMER
        members[index] = replace(members[index], CLASSIC)
    assert flock.listed().type == ConsumerGroupType.CLASSIC
    assert all(each.lost == [] for each in (*members, *flock.gone))
    flock.finish()
