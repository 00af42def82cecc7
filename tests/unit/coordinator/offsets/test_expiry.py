"""The expiry of offsets that nobody uses any more, and of those of deleted topics."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.offset_groups import MINUTE, NOON, Coordinated, topic_id
from tests.support.offset_requests import commit, end, fetch, stage
from tests.unit.coordinator.offsets.conftest import OtherGroup, classic_group

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.offsets import deleted_topics, expiry
from tidelog.coordinator.group.records.share import ShareGroupMetadataKey, ShareGroupMetadataValue
from tidelog.coordinator.group.shard import GroupType
from tidelog.coordinator.requests import KeyValue
from tidelog.model.decisions import Result

A0, A1, B0 = ("a", 0), ("a", 1), ("b", 0)
RETENTION = 100 * MINUTE


@pytest.fixture
def at() -> Coordinated:
    return Coordinated(
        {"a": 4, "b": 2}, offsets_retention_minutes="100", offsets_retention_check_interval_ms=str(MINUTE)
    )


def test_a_simple_groups_offsets_expire_one_by_one_and_the_group_with_the_last(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    at.pass_time(RETENTION // 2)
    commit(at, "g", {A1: 1})
    at.pass_time(RETENTION // 2 - 1)
    assert fetch(at, "g") == {A0: 1, A1: 1}
    at.pass_time(MINUTE)
    assert fetch(at, "g") == {A1: 1}
    at.pass_time(RETENTION // 2)
    assert (fetch(at, "g"), at.shard.groups) == ({}, {})
    assert at.shard.counters["offset-expirations"] == 2
    at.validate_state()


def test_an_old_clients_own_retention_counts(at: Coordinated) -> None:
    commit(at, "short", {A0: 1}, 4, retention_time_ms=10 * MINUTE)
    commit(at, "long", {A0: 1}, 4, retention_time_ms=2 * RETENTION)
    at.pass_time(10 * MINUTE)
    assert (fetch(at, "short"), fetch(at, "long")) == ({}, {A0: 1})
    at.pass_time(RETENTION)
    assert fetch(at, "long") == {A0: 1}


def test_a_group_that_became_empty_counts_from_then(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    at.pass_time(RETENTION // 2)
    classic_group(at, ClassicState.EMPTY)  # its last member has left just now
    at.pass_time(RETENTION - 1)
    assert fetch(at, "g") == {A0: 1}
    at.pass_time(MINUTE)
    assert (fetch(at, "g"), at.shard.groups) == ({}, {})


def test_what_members_read_stays_and_the_rest_goes(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, B0: 1})
    at.shard.groups["g"] = OtherGroup(subscribed=("a",))
    at.pass_time(2 * RETENTION)
    assert fetch(at, "g") == {A0: 1}
    assert list(at.shard.groups) == ["g"]


def test_a_group_that_is_rebalancing_keeps_everything(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    at.shard.groups["g"] = OtherGroup(base_ms=None)
    at.pass_time(2 * RETENTION)
    assert fetch(at, "g") == {A0: 1}


def test_a_group_with_members_is_not_deleted_with_its_last_offset(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    at.shard.groups["g"] = OtherGroup()
    at.pass_time(2 * RETENTION)
    assert fetch(at, "g") == {}
    assert len(at.log) == 2  # the commit and its tombstone, none for the group


def test_what_is_staged_does_not_expire_nor_what_it_will_replace(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, A1: 1})
    stage(at, "g", {A0: 2})
    stage(at, "h", {A0: 2}, producer=8)
    at.pass_time(2 * RETENTION)
    assert fetch(at, "g") == {A0: 1}
    assert list(at.shard.groups) == ["g", "h"]
    end(at)
    assert fetch(at, "g") == {A0: 2}
    at.pass_time(MINUTE)
    assert (fetch(at, "g"), list(at.shard.groups)) == ({}, ["h"])
    at.validate_state()


def test_an_empty_group_without_offsets_goes_but_a_share_group(at: Coordinated) -> None:
    """A share group's positions lie elsewhere, so it is kept."""
    classic_group(at, ClassicState.EMPTY)
    key = ShareGroupMetadataKey(group_id="s")
    at.machine.replay(KeyValue(key, ShareGroupMetadataValue(epoch=1, metadata_hash=0)))
    at.pass_time(MINUTE)
    assert [group.type for group in at.shard.groups.values()] == [GroupType.SHARE]


def test_more_than_one_round_is_good_for_goes_in_several(at: Coordinated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "RECORDS_A_ROUND", 2)
    for group in "abcde":
        commit(at, group, {A0: 1})
    at.pass_time(2 * RETENTION)
    assert at.shard.groups == {}
    deadline = at.machine.deadline
    assert deadline is not None
    assert deadline > at.now_ms


def test_a_round_gives_the_turn_back(at: Coordinated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "OFFSETS_A_SLICE", 2)
    commit(at, "g", {A0: 1, A1: 1, ("a", 2): 1, ("a", 3): 1})
    at.now_ms += MINUTE
    steps = at.machine.step(at.now_ms, at.wall_ms)
    assert len(list(steps)) == 2  # type: ignore[arg-type]


# Deleted topics


def test_the_offsets_of_a_deleted_topic_go_with_it(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, B0: 1})
    commit(at, "h", {A1: 1})
    at.delete_topic("a")
    at.pass_time(0)
    assert (fetch(at, "g"), fetch(at, "h")) == ({B0: 1}, {})
    assert list(at.shard.groups) == ["g", "h"]
    at.validate_state()


def test_what_was_committed_for_the_new_topic_of_that_name_stays(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, A1: 1})
    at.delete_topic("a")
    at.create_topic("a", 4, made=1)
    commit(at, "g", {A0: 7})
    assert at.log[-1].value.topic_id == topic_id("a", 1)  # type: ignore[union-attr]
    at.pass_time(0)
    assert fetch(at, "g") == {A0: 7}


def test_offsets_without_a_topic_id_go_by_name_and_staged_ones_too(at: Coordinated) -> None:
    stage(at, "g", {A0: 1})
    end(at)
    stage(at, "g", {A1: 2, B0: 1})
    at.delete_topic("a")
    before = len(at.log)
    at.pass_time(0)
    assert len(at.log) - before == 2
    end(at)
    assert fetch(at, "g", stable=True) == {B0: 1}
    at.validate_state()


def test_thousands_of_deleted_topics_are_looked_for_where_offsets_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deleted topic is looked for only in the groups that have offsets of it, and the turn is given back on the
    way."""
    at = Coordinated({f"t{index}": 1 for index in range(2_000)})
    for index in range(300):
        commit(at, f"g{index}", {("t1", 0): 1, (f"t{index}", 0): 1})
    for index in range(2_000):
        topic = at.draft.topics.by_name[f"t{index}"]
        at.shard.offsets.deleted_topics[topic.id] = topic.name
    looks: Counter[int] = Counter()  # by slice
    slices = 0
    look = deleted_topics._of_topics

    def note(*given: Any) -> list[int]:
        looks[slices] += 1
        return look(*given)

    monkeypatch.setattr(deleted_topics, "_of_topics", note)
    results: list[Result] = []

    def removing() -> Iterator[None]:
        results.append((yield from deleted_topics.remove_deleted_topics(at.shard, 0, 0, None)))

    for _ in removing():
        slices += 1
    assert len(results[0].records) == 2 * 300 - 1
    assert looks.total() == 2 * 300 - 1
    assert max(looks.values()) <= deleted_topics.ENTRIES_A_SLICE
    assert slices > 2, "the records are made in slices, too"


def test_retention_goes_by_the_wall_clock(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    at.wall_ms = NOON + 2 * RETENTION  # the wall clock is set forward, which does not move timers
    at.now_ms += MINUTE
    at.pass_time(0)
    assert fetch(at, "g") == {}
