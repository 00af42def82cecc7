"""Which members and clients may commit and fetch offsets of a consumer group."""

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, REBALANCE_MS, Bench, Client

from tidelog.coordinator.group.shard import CommitPartitionCheck
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid

UNKNOWN = Uuid(bytes(15) + b"\x63")


def commit(
    bench: Bench, member_id: str, epoch: int, version: int = 9, *, is_transactional: bool = False
) -> CommitPartitionCheck | None:
    return bench.group.validate_offset_commit(
        member_id, None, epoch, is_transactional=is_transactional, api_version=version
    )


def code_of(bench: Bench, member_id: str, epoch: int, version: int = 9, *, is_transactional: bool = False) -> ErrorCode:
    with pytest.raises(ApiError) as refused:
        commit(bench, member_id, epoch, version, is_transactional=is_transactional)
    return refused.value.code


@pytest.fixture
def scene() -> tuple[Bench, Client]:
    bench = Bench()
    bench.topic("t", 2)
    (client,) = bench.joined("a")
    bench.topic("u", 1)
    client.report(subscribed_topic_names=["t", "u"])
    assert client.epoch == 3
    return bench, client


def test_the_member_itself(scene: tuple[Bench, Client]) -> None:
    bench, client = scene
    assert commit(bench, "a", client.epoch) is None


def test_an_older_epoch_may_commit_what_it_has_had_since(scene: tuple[Bench, Client]) -> None:
    bench, _ = scene
    check = commit(bench, "a", 2)
    assert check is not None
    check(bench.topic_id("t"), 0)
    for topic_id, partition in ((bench.topic_id("u"), 0), (bench.topic_id("t"), 7), (UNKNOWN, 0)):
        with pytest.raises(ApiError) as refused:
            check(topic_id, partition)
        assert refused.value.code is ErrorCode.STALE_MEMBER_EPOCH


def test_what_is_to_be_given_back_can_still_be_committed(scene: tuple[Bench, Client]) -> None:
    bench, client = scene
    client.beat(subscribed_topic_names=["u"])
    assert client.state.pending_revocation
    check = commit(bench, "a", 2)
    assert check is not None
    check(bench.topic_id("t"), 1)


def test_others(scene: tuple[Bench, Client]) -> None:
    bench, client = scene
    assert code_of(bench, "a", client.epoch + 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert code_of(bench, "x", client.epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code_of(bench, "", -1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert code_of(bench, "a", client.epoch, 8) is ErrorCode.UNSUPPORTED_VERSION
    assert code_of(bench, "x", 1, is_transactional=True) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_producer_that_names_nobody(scene: tuple[Bench, Client]) -> None:
    bench, client = scene
    assert commit(bench, "", -1, is_transactional=True) is None
    assert commit(bench, "a", client.epoch, 3, is_transactional=True) is None


def test_an_empty_group_takes_an_admins_offsets(scene: tuple[Bench, Client]) -> None:
    bench, client = scene
    client.leave()
    assert commit(bench, "", -1) is None
    assert code_of(bench, "a", 3) is ErrorCode.UNKNOWN_MEMBER_ID
    bench.group.validate_delete()


def test_fetching(scene: tuple[Bench, Client]) -> None:
    bench, client = scene
    bench.group.validate_offset_fetch(None, -1)
    bench.group.validate_offset_fetch("a", client.epoch)
    for member_id, epoch, code in (
        ("a", client.epoch - 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("x", 1, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        with pytest.raises(ApiError) as refused:
            bench.group.validate_offset_fetch(member_id, epoch)
        assert refused.value.code is code


def test_who_returned_with_another_id_has_had_it_since_ever() -> None:
    bench = Bench()
    bench.topic("t", 1)
    first = bench.client("a", instance_id="i")
    first.join()
    first.leave(-2)
    bench.client("a2", instance_id="i").join()
    check = commit(bench, "a2", 1)
    assert check is not None
    check(bench.topic_id("t"), 0)
    assert code_of(bench, "a", 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_what_the_offsets_part_asks_besides(scene: tuple[Bench, Client]) -> None:
    bench, _ = scene
    group = bench.group
    assert group.is_subscribed_to("t")
    assert not group.is_subscribed_to("v")
    assert (group.expiry_base_ms(5), group.expires_subscribed()) == (5, False)
    assert (group.protocol_type, group.group_id, REBALANCE_MS > 0) == ("consumer", GROUP, True)
    with pytest.raises(ApiError) as refused:
        group.validate_delete()
    assert refused.value.code is ErrorCode.NON_EMPTY_GROUP
