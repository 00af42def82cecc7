"""Random commits, transactions, deletions and expiry. The offsets are those of a twin that only keeps a list of all
commits, and the machine's state is at every moment what its log says."""

from dataclasses import dataclass
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.support.offset_groups import MINUTE, Coordinated
from tests.support.offset_requests import commit, delete, delete_groups, end, fetch, stage

from tidelog.model.errors import ErrorCode

RETENTION = 10 * MINUTE
GROUPS, TOPICS, PARTITIONS, PRODUCERS = ("g", "h"), ("a", "b"), (0, 1), (1, 2)

groups = st.sampled_from(GROUPS)
producers = st.sampled_from(PRODUCERS)
partitions = st.tuples(st.sampled_from(TOPICS), st.sampled_from(PARTITIONS))
some_offsets = st.dictionaries(partitions, st.integers(0, 1000), min_size=1, max_size=3)


@dataclass
class Entry:
    group: str
    partition: tuple[str, int]
    offset: int
    wall_ms: int
    producer: int | None  # the producer whose transaction it still waits for


class Twin:
    """Every commit that was made and not taken back, in the order they were made."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, group: str, offsets: dict[tuple[str, int], int], wall_ms: int, producer: int | None) -> None:
        self.entries += [Entry(group, partition, offset, wall_ms, producer) for partition, offset in offsets.items()]

    def end(self, producer: int, *, committed: bool) -> None:
        if not committed:
            self.entries = [entry for entry in self.entries if entry.producer != producer]
        for entry in self.entries:
            if entry.producer == producer:
                entry.producer = None

    def forget(
        self, group: str | None = None, partition: tuple[str, int] | None = None, topic: str | None = None
    ) -> None:
        self.entries = [
            entry
            for entry in self.entries
            if (group is not None and entry.group != group)
            or (partition is not None and entry.partition != partition)
            or (topic is not None and entry.partition[0] != topic)
        ]

    def expire(self, wall_ms: int) -> None:
        for group in GROUPS:
            for partition, entry in self.visible(group).items():
                if entry.wall_ms + RETENTION <= wall_ms and partition not in self.unstable(group):
                    self.forget(group, partition)

    def visible(self, group: str) -> dict[tuple[str, int], Entry]:
        return {entry.partition: entry for entry in self.entries if entry.group == group and entry.producer is None}

    def unstable(self, group: str) -> set[tuple[str, int]]:
        return {entry.partition for entry in self.entries if entry.group == group and entry.producer is not None}


class OffsetsMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        retention = str(RETENTION // MINUTE)
        check = str(MINUTE)
        self.at = Coordinated(
            dict.fromkeys(TOPICS, 2), offsets_retention_minutes=retention, offsets_retention_check_interval_ms=check
        )
        self.twin = Twin()
        self.times_made = 0

    @rule(group=groups, offsets=some_offsets)
    def commit(self, group: str, offsets: dict[tuple[str, int], int]) -> None:
        assert set(commit(self.at, group, offsets).values()) == {ErrorCode.NONE}
        self.twin.add(group, offsets, self.at.wall_ms, None)

    @rule(group=groups, offsets=some_offsets, producer=producers)
    def stage(self, group: str, offsets: dict[tuple[str, int], int], producer: int) -> None:
        assert set(stage(self.at, group, offsets, producer).values()) == {ErrorCode.NONE}
        self.twin.add(group, offsets, self.at.wall_ms, producer)

    @rule(producer=producers, committed=st.booleans())
    def end(self, producer: int, committed: bool) -> None:
        end(self.at, producer, committed=committed)
        self.twin.end(producer, committed=committed)

    @rule(group=groups, partition=partitions)
    def delete(self, group: str, partition: tuple[str, int]) -> None:
        there = group in self.at.shard.groups
        answer = delete(self.at, group, partition)
        assert answer == ({partition: ErrorCode.NONE} if there else ErrorCode.GROUP_ID_NOT_FOUND)
        self.twin.forget(group, partition)

    @rule(group=groups)
    def delete_group(self, group: str) -> None:
        there = group in self.at.shard.groups
        assert delete_groups(self.at, group) == {group: ErrorCode.NONE if there else ErrorCode.GROUP_ID_NOT_FOUND}
        assert group not in self.at.shard.groups
        self.twin.forget(group)

    @rule(topic=st.sampled_from(TOPICS))
    def make_topic_anew(self, topic: str) -> None:
        self.times_made += 1
        self.at.delete_topic(topic)
        self.at.pass_time(0)
        self.at.create_topic(topic, 2, self.times_made)
        self.twin.forget(topic=topic)

    @rule(minutes=st.sampled_from([1, 5, 11]))
    def pass_time(self, minutes: int) -> None:
        self.at.pass_time(minutes * MINUTE)
        self.twin.expire(self.at.wall_ms)

    @rule()
    @precondition(lambda self: self.at.log)
    def reload(self) -> None:
        self.at.reload()

    @invariant()
    def the_offsets_are_the_twins(self) -> None:
        for group in GROUPS:
            visible: dict[Any, Any] = {each: entry.offset for each, entry in self.twin.visible(group).items()}
            unstable = self.twin.unstable(group)
            assert fetch(self.at, group) == visible
            stable = {**visible, **dict.fromkeys(unstable, ErrorCode.UNSTABLE_OFFSET_COMMIT)}
            assert fetch(self.at, group, {topic: list(PARTITIONS) for topic in TOPICS}, stable=True) == stable
            assert self.at.shard.offsets.has_staged(group) == bool(unstable)
            assert group in self.at.shard.groups or not stable

    @invariant()
    def they_are_counted(self) -> None:
        assert self.at.shard.offsets.count == sum(len(self.twin.visible(group)) for group in GROUPS)

    @invariant()
    def the_state_is_what_the_log_says(self) -> None:
        self.at.validate_state()


TestOffsets = OffsetsMachine.TestCase
TestOffsets.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
