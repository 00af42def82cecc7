"""The changes of one partition: elections, eligible leaders, reassignment, directories."""

from dataclasses import fields, replace
from typing import Any

import pytest
from tests.unit.controller.cluster import uuid

from tidelog.controller.partition_changes import Election, ElectionRules, change_partition
from tidelog.metadata.records.topics import PartitionChangeRecord
from tidelog.metadata.topics import NO_LEADER, LeaderRecoveryState, Partition

TOPIC = uuid(77)
D1, D2, D3, D4 = uuid(201), uuid(202), uuid(203), uuid(204)
PARTITION = Partition((1, 2, 3), (D1, D2, D3), (1, 2, 3), 1, 5, 9)


def rules(*alive: int, **changes: Any) -> ElectionRules:
    base = ElectionRules(
        min_isr=2,
        elr_enabled=False,
        is_acceptable_leader=lambda _partition, broker: broker in alive,
        default_directory=lambda broker: uuid(200 + broker),
    )
    return replace(base, **changes)


def changed(partition: Partition, rules: ElectionRules, **asked: Any) -> dict[str, Any]:
    """Return the fields that the record changes."""
    record = change_partition(TOPIC, 4, partition, rules, **asked)
    if record is None:
        return {}
    assert (record.topic_id, record.partition_id) == (TOPIC, 4)
    nothing = PartitionChangeRecord(partition_id=4, topic_id=TOPIC)
    names = (each.name for each in fields(record) if getattr(record, each.name) != getattr(nothing, each.name))
    return {name: getattr(record, name) for name in names}


def test_nothing_to_change() -> None:
    assert changed(PARTITION, rules(1, 2, 3)) == {}
    assert changed(PARTITION, rules(1, 2, 3), isr=[1, 2, 3]) == {}


def test_a_follower_leaves_the_isr() -> None:
    assert changed(PARTITION, rules(1, 2), isr=[1, 2]) == {"isr": [1, 2]}


def test_before_3_6_a_shrinking_isr_takes_a_new_leader_epoch() -> None:
    old = rules(1, 2, 3, epoch_bump_on_shrink=True)
    assert changed(PARTITION, old, isr=[1, 2]) == {"isr": [1, 2], "leader": 1}
    smaller = replace(PARTITION, isr=(1, 2))
    assert changed(smaller, old, isr=[1, 2, 3]) == {"isr": [1, 2, 3]}


def test_the_leader_goes_and_the_next_replica_in_sync_leads() -> None:
    assert changed(PARTITION, rules(2, 3), isr=[2, 3]) == {"isr": [2, 3], "leader": 2}
    assert changed(replace(PARTITION, isr=(1, 3)), rules(2, 3), isr=[3]) == {"isr": [3], "leader": 3}


def test_the_last_one_goes() -> None:
    alone = replace(PARTITION, isr=(1,))
    # The last in-sync replica stays in the ISR: it alone has everything, and may lead again.
    assert changed(alone, rules(2, 3), isr=[]) == {"leader": NO_LEADER}
    waiting = replace(alone, leader=NO_LEADER)
    assert changed(waiting, rules(2, 3)) == {}
    assert changed(waiting, rules(1, 2, 3)) == {"leader": 1}


def test_an_unclean_election() -> None:
    unclean = rules(2, 3, election=Election.UNCLEAN)
    recovering = LeaderRecoveryState.RECOVERING.value
    alone = replace(PARTITION, isr=(1,))
    assert changed(alone, unclean, isr=[]) == {"leader": 2, "isr": [2], "leader_recovery_state": recovering}
    already = replace(alone, leader_recovery_state=LeaderRecoveryState.RECOVERING)
    assert changed(already, unclean, isr=[]) == {"leader": 2, "isr": [2]}
    # An in-sync replica is alive, so the election is clean.
    assert changed(PARTITION, unclean, isr=[2, 3]) == {"isr": [2, 3], "leader": 2}


def test_the_preferred_leader() -> None:
    preferred = rules(1, 2, 3, election=Election.PREFERRED)
    led_by_3 = replace(PARTITION, leader=3)
    assert changed(led_by_3, preferred) == {"leader": 1}
    assert changed(led_by_3, rules(1, 2, 3)) == {}
    assert changed(replace(led_by_3, isr=(2, 3)), preferred) == {}


class TestEligibleLeaders:
    def test_below_min_isr_who_leaves_stays_eligible(self) -> None:
        elr = rules(1, elr_enabled=True)
        two = replace(PARTITION, isr=(1, 2))
        assert changed(two, elr, isr=[1]) == {"isr": [1], "eligible_leader_replicas": [2]}
        # While the ISR is large enough, a removed replica is not eligible: it will miss committed records.
        assert changed(PARTITION, elr, isr=[1, 2]) == {"isr": [1, 2]}

    def test_the_isr_may_become_empty_and_remembers_the_last_leader(self) -> None:
        one = replace(PARTITION, isr=(1,), elr=(2,))
        assert changed(one, rules(elr_enabled=True), isr=[]) == {
            "isr": [],
            "leader": NO_LEADER,
            "eligible_leader_replicas": [1, 2],
            "last_known_elr": [1],
        }

    def test_an_eligible_replica_is_elected_cleanly(self) -> None:
        waiting = replace(PARTITION, isr=(), leader=NO_LEADER, elr=(1, 2), last_known_elr=(1,))
        assert changed(waiting, rules(2, 3, elr_enabled=True)) == {
            "isr": [2],
            "leader": 2,
            "eligible_leader_replicas": [1],
            "last_known_elr": [],
        }

    def test_nobody_eligible_lives(self) -> None:
        waiting = replace(PARTITION, isr=(), leader=NO_LEADER, elr=(1, 2), last_known_elr=(1,))
        assert changed(waiting, rules(3, elr_enabled=True)) == {}

    def test_after_an_unclean_shutdown_nobody_is_eligible_but_the_last_leader_may_be_all_there_is(self) -> None:
        one = replace(PARTITION, isr=(1,))
        elr = rules(elr_enabled=True)
        lost = changed(one, elr, isr=[], unclean_shutdown=[1])
        assert lost == {"isr": [], "leader": NO_LEADER, "last_known_elr": [1]}
        waiting = replace(PARTITION, isr=(), leader=NO_LEADER, last_known_elr=(1,))
        assert changed(waiting, rules(2, 3, elr_enabled=True)) == {}
        assert changed(waiting, rules(1, 2, 3, elr_enabled=True)) == {
            "leader": 1,
            "isr": [1],
            "last_known_elr": [],
            "leader_recovery_state": LeaderRecoveryState.RECOVERING.value,
        }

    def test_min_isr_reached_again_clears_it(self) -> None:
        small = replace(PARTITION, isr=(1,), elr=(2,))
        elr = rules(1, 2, 3, elr_enabled=True)
        assert changed(small, elr, isr=[1, 3]) == {"isr": [1, 3], "eligible_leader_replicas": []}

    def test_switched_off_it_is_forgotten(self) -> None:
        small = replace(PARTITION, isr=(1,), elr=(2,))
        assert changed(small, rules(1, 2, 3)) == {"eligible_leader_replicas": []}


class TestReassignment:
    MOVING = replace(
        PARTITION,
        replicas=(3, 1, 2),
        directories=(D3, D1, D2),
        isr=(1, 2),
        adding_replicas=(3,),
        removing_replicas=(1,),
    )

    def test_waits_for_what_is_added(self) -> None:
        assert changed(self.MOVING, rules(1, 2, 3)) == {}

    def test_completes_and_moves_the_leader(self) -> None:
        assert changed(self.MOVING, rules(1, 2, 3), isr=[1, 2, 3]) == {
            "isr": [2, 3],
            "leader": 3,
            "replicas": [3, 2],
            "directories": [D3, D2],
            "adding_replicas": [],
            "removing_replicas": [],
        }

    def test_a_leader_that_stays_gets_a_new_epoch(self) -> None:
        led_by_2 = replace(self.MOVING, leader=2)
        assert changed(led_by_2, rules(1, 2, 3), isr=[1, 2, 3])["leader"] == 2

    def test_when_it_shrinks_all_who_stay_must_be_in_sync(self) -> None:
        shrinking = replace(PARTITION, isr=(1, 2), removing_replicas=(1,))
        assert changed(shrinking, rules(1, 2, 3)) == {}
        assert changed(shrinking, rules(1, 2, 3), isr=[1, 2, 3])["replicas"] == [2, 3]

    def test_who_is_removed_is_not_eligible(self) -> None:
        shrinking = replace(PARTITION, isr=(1, 3), replicas=(1, 3), directories=(D1, D3), removing_replicas=(3,))
        assert "eligible_leader_replicas" not in changed(shrinking, rules(1, 3, elr_enabled=True))

    def test_never_leaves_an_empty_isr(self) -> None:
        removing_all_in_sync = replace(PARTITION, isr=(1,), removing_replicas=(1,))
        assert changed(removing_all_in_sync, rules(1, 2, 3)) == {}


class TestDirectories:
    def test_one_is_set(self) -> None:
        assert changed(PARTITION, rules(1, 2, 3), directory=(2, D4)) == {"directories": [D1, D4, D3]}
        assert changed(PARTITION, rules(1, 2, 3), directory=(2, D2)) == {}

    def test_not_in_records_that_have_none(self) -> None:
        assert changed(PARTITION, rules(1, 2, 3, directories_supported=False), directory=(2, D4)) == {}


@pytest.mark.parametrize("election", list(Election))
def test_a_leader_that_can_stay_is_kept(election: Election) -> None:
    assert changed(PARTITION, rules(1, 2, 3, election=election)) == {}
