"""No request makes the loop wait for a page of the disk: indexes, headers and records are warmed first."""

from typing import Any

import pytest
from tests.support.serving import batch_of, create, produce, produced, values_in
from tests.unit.server.fetch.test_fetch import hosted, only, request, wanted

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.server.handlers import list_offsets
from tidelog.sim.node_world import NodeWorld, SimClient

BATCHES = 120
BATCH_BYTES = 5_000  # so that every batch but the first has an entry in the index
SPECIAL = -3


@pytest.fixture
def cold(client: SimClient, node: NodeWorld, topic: str) -> str:
    """Return a topic of two segments on disk, with nothing of it in the page cache."""
    create(client, topic)
    log = hosted(node, topic).log
    for number in range(BATCHES):
        if number == BATCHES - 3:
            log.flush.now(log)
            log.roll(node.clock.wall_ms())
        produced(client, topic, batch_of(bytes(BATCH_BYTES), first_timestamp=1_000 + number))
    node.run(100)  # until the flush that the roll began is over
    log.segments.active.seal()
    log.segments.active.is_sealed = False
    log.flush.now(log)
    log.segments.active.indexes.write()
    evict(node)
    return topic


def evict(node: NodeWorld) -> None:
    node.fs.disk("/disk").evict()


@pytest.mark.parametrize("offset", [0, 1, BATCHES // 2, BATCHES - 4, BATCHES - 3, BATCHES - 1])
@pytest.mark.parametrize("limit", [1, 3 * BATCH_BYTES, 1 << 20])
def test_a_fetch(client: SimClient, node: NodeWorld, cold: str, offset: int, limit: int) -> None:
    before = node.fs.cold_reads
    found = only(client.ask(request(cold, wanted(offset=offset, max_bytes=limit), isolation_level=1), 12))
    assert values_in(found.records, offset)[0] == bytes(BATCH_BYTES)
    assert node.fs.cold_reads == before


def test_a_fetch_on_the_quick_way(client: SimClient, node: NodeWorld, cold: str) -> None:
    for offset in range(5):
        evict(node)
        before = node.fs.cold_reads
        only(client.ask(request(cold, wanted(offset=offset, max_bytes=BATCH_BYTES + 200)), 12))
        assert node.fs.cold_reads == before


def test_a_fetch_that_waits_counts_without_the_disk(client: SimClient, node: NodeWorld, cold: str) -> None:
    before = node.fs.cold_reads
    found = client.ask(request(cold, wanted(offset=BATCHES - 2), max_wait_ms=1_000, min_bytes=2 * BATCH_BYTES), 12)
    assert len(values_in(only(found).records, BATCHES - 2)) == 2
    assert node.fs.cold_reads == before


def listed(client: SimClient, topic: str, timestamp: int) -> Any:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsTopic(name=topic, partitions=[asked])]
    found = client.ask(ListOffsetsRequest(replica_id=-1, topics=topics), 8).topics[0].partitions[0]
    assert found.error_code == ErrorCode.NONE
    return found.offset, found.timestamp


@pytest.mark.parametrize("timestamp", [0, 1_000, 1_050, 1_000 + BATCHES - 1, SPECIAL])
def test_list_offsets(client: SimClient, node: NodeWorld, cold: str, timestamp: int) -> None:
    before = node.fs.cold_reads
    at = BATCHES - 1 if timestamp == SPECIAL else max(0, timestamp - 1_000)
    assert listed(client, cold, timestamp) == (at, 1_000 + at)
    assert node.fs.cold_reads == before


def test_a_long_search_gives_the_turn_back(
    client: SimClient, node: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest timestamp is of a deleted record, so every header behind it has to be read."""
    create(client, topic)
    produced(client, topic, batch_of(b"first", first_timestamp=9_000))
    for number in range(BATCHES):
        produced(client, topic, batch_of(bytes(BATCH_BYTES), first_timestamp=1_000 + number % 100))
    cut = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=0), 2)
    assert listed(client, topic, SPECIAL) == (100, 1_099)
    monkeypatch.setattr(list_offsets, "STEPS_A_SLICE", 2)
    other, slices = node.client(), 0
    resume = list_offsets.DelayedListOffsets.resume

    def counted(self: list_offsets.DelayedListOffsets) -> None:
        nonlocal slices
        slices += 1
        resume(self)

    monkeypatch.setattr(list_offsets.DelayedListOffsets, "resume", counted)
    assert listed(client, topic, SPECIAL) == (100, 1_099)
    assert slices > BATCHES / 4
    assert produce(other, topic, b"beside") == BATCHES + 1


def test_a_log_that_is_cut_under_a_search(
    client: SimClient, node: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search begins again, and answers for the log as it is now."""
    create(client, topic)
    for number in range(20):
        produced(client, topic, batch_of(bytes(BATCH_BYTES), first_timestamp=9_000 - number))
    log = hosted(node, topic).log
    resume = list_offsets.DelayedListOffsets.resume

    def cutting(self: list_offsets.DelayedListOffsets) -> None:
        resume(self)
        if log.log_start_offset < 5:
            log.advance_log_start(log.log_start_offset + 1)

    monkeypatch.setattr(list_offsets, "STEPS_A_SLICE", 1)
    monkeypatch.setattr(list_offsets.DelayedListOffsets, "resume", cutting)
    assert listed(client, topic, SPECIAL) == (5, 8_995)
