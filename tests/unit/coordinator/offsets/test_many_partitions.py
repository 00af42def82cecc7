"""Commits of more partitions than a turn has time for: one decision, made in parts that give the turn back."""

from collections.abc import Generator
from typing import Any

import pytest
from tests.support.offset_groups import Coordinated
from tests.support.offset_requests import commit, fetch
from tests.unit.coordinator.offsets.conftest import OtherGroup

from tidelog.coordinator.group.offsets.commit_request import PARTITIONS_A_SLICE, parts_of
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue, TransactionalKeyValue
from tidelog.model.decisions import Result
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import offset_commit, offset_delete, txn_offset_commit

MANY = 3 * PARTITIONS_A_SLICE + 7
FEW = PARTITIONS_A_SLICE // 2


@pytest.fixture
def wide() -> Coordinated:
    return Coordinated({"a": MANY, "b": FEW, "c": MANY})


def commit_request(counts: dict[str, int], **of: Any) -> Any:
    topics = [
        offset_commit.OffsetCommitRequestTopic(
            name=name,
            partitions=[
                offset_commit.OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=index, committed_leader_epoch=3, committed_metadata=""
                )
                for index in range(count)
            ],
        )
        for name, count in counts.items()
    ]
    return offset_commit.OffsetCommitRequest(group_id="g", **{"member_id": "", **of}, topics=topics)


def handled(at: Coordinated, message: Any, version: int) -> tuple[Result, int]:
    """Handle the request; return the decision, and how often the turn was given back on the way to it."""
    work = at.machine.handle(at.now_ms, CoordinatorRequest(message, version, at.wall_ms))
    if isinstance(work, Result):
        return work, 0
    assert isinstance(work, Generator)
    for count in range(10_000):
        try:
            next(work)
        except StopIteration as end:
            return end.value, count
    raise AssertionError("it does not end")


def answers(response: Any) -> list[tuple[str, int, int]]:
    return [
        (topic.name, each.partition_index, each.error_code) for topic in response.topics for each in topic.partitions
    ]


def test_few_partitions_are_decided_at_once(wide: Coordinated) -> None:
    result, pauses = handled(wide, commit_request({"b": FEW}), 9)
    assert (len(result.records), pauses) == (FEW, 0)


def test_many_are_one_decision_in_parts(wide: Coordinated) -> None:
    counts = {"a": MANY, "b": FEW, "unknown": 3, "c": MANY + 2}
    result, pauses = handled(wide, commit_request(counts), 9)
    assert pauses >= 2 * (2 * MANY + FEW) // PARTITIONS_A_SLICE, "once for the answers, once for the records"
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    expected = [("a", index, 0) for index in range(MANY)]
    expected += [("b", index, 0) for index in range(FEW)]
    expected += [("unknown", index, unknown) for index in range(3)]
    expected += [("c", index, 0 if index < MANY else unknown) for index in range(MANY + 2)]
    assert answers(result.response) == expected
    assert [topic.name for topic in result.response.topics] == list(counts), "none of them twice"
    assert result.is_atomic
    written = [(each.key.topic, each.key.partition) for each, _version in result.records if isinstance(each, KeyValue)]
    assert written == [(name, index) for name, index, code in expected if not code]


def test_a_refusal_in_the_middle_refuses_all(wide: Coordinated) -> None:
    topic_id = wide.shard.image.topics.by_name["c"].id
    wide.shard.groups["g"] = OtherGroup(not_assigned=((topic_id, MANY - 1),))
    result, _ = handled(wide, commit_request({"a": MANY, "c": MANY}), 9)
    assert not result.records
    assert {code for _name, _index, code in answers(result.response)} == {ErrorCode.STALE_MEMBER_EPOCH}


@pytest.mark.parametrize("fits", [True, False])
def test_what_does_not_fit_into_a_batch_is_refused(fits: bool) -> None:
    """The exact size is counted, in parts, too, where the estimate is too large."""
    at = Coordinated({"a": MANY}, max_record_bytes=100 * MANY if fits else 60 * MANY)
    result, pauses = handled(at, commit_request({"a": MANY}), 9)
    assert pauses >= 3 * MANY // PARTITIONS_A_SLICE
    expected = ErrorCode.NONE if fits else ErrorCode.UNKNOWN_SERVER_ERROR
    assert {code for _name, _index, code in answers(result.response)} == {expected}
    assert len(result.records) == (MANY if fits else 0)


def test_in_a_transaction(wide: Coordinated) -> None:
    partitions = [
        txn_offset_commit.TxnOffsetCommitRequestPartition(
            partition_index=index, committed_offset=index, committed_metadata=""
        )
        for index in range(MANY)
    ]
    topic = txn_offset_commit.TxnOffsetCommitRequestTopic(name="a", partitions=partitions)
    message = txn_offset_commit.TxnOffsetCommitRequest(
        transactional_id="t", group_id="g", producer_id=7, producer_epoch=1, topics=[topic]
    )
    result, pauses = handled(wide, message, 3)
    assert pauses >= 3 * MANY // PARTITIONS_A_SLICE
    assert answers(result.response) == [("a", index, 0) for index in range(MANY)]
    staged = [each for each, _version in result.records if isinstance(each, TransactionalKeyValue)]
    assert [(each.producer_id, each.key.partition) for each in staged] == [(7, index) for index in range(MANY)]


def test_and_their_deletion(wide: Coordinated) -> None:
    commit(wide, "g", {("a", index): index for index in range(MANY)})
    assert len(fetch(wide, "g")) == MANY
    partitions = [offset_delete.OffsetDeleteRequestPartition(partition_index=index) for index in range(MANY)]
    topic = offset_delete.OffsetDeleteRequestTopic(name="a", partitions=partitions)
    result, pauses = handled(wide, offset_delete.OffsetDeleteRequest(group_id="g", topics=[topic]), 0)
    assert pauses >= 2 * MANY // PARTITIONS_A_SLICE
    assert answers(result.response) == [("a", index, 0) for index in range(MANY)]
    assert len(result.records) == MANY


@pytest.mark.parametrize(
    "counts",
    [
        [],
        [0],
        [0] * (2 * PARTITIONS_A_SLICE),
        [1] * (2 * PARTITIONS_A_SLICE),
        [PARTITIONS_A_SLICE - 1],
        [PARTITIONS_A_SLICE],
        [PARTITIONS_A_SLICE - 1, 5],
        [PARTITIONS_A_SLICE - 2, 0, 1],
        [3, 5 * PARTITIONS_A_SLICE, 4],
    ],
)
def test_parts_are_the_whole_in_its_order(counts: list[int]) -> None:
    topics = commit_request({f"t{number}": count for number, count in enumerate(counts)}).topics
    found: list[tuple[str, list[int]]] = []
    for part, goes_on in parts_of(topics):
        assert 0 < len(part) + sum(len(each.partitions) for each in part) <= PARTITIONS_A_SLICE + 1
        for number, each in enumerate(part):
            indexes = [partition.partition_index for partition in each.partitions]
            if goes_on and number == 0:
                assert found[-1][0] == each.name
                found[-1][1].extend(indexes)
            else:
                found.append((each.name, indexes))
    assert found == [(f"t{number}", list(range(count))) for number, count in enumerate(counts)]
