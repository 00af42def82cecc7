"""The facts about a log that a cleaning job is given."""

from dataclasses import replace

from tests.sim.broker import T0
from tests.sim.cleaned_broker import COMPACTED, CleanedBroker

from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.storage.cleaner.cleaner_config import CleanerConfig
from tidelog.storage.cleaner.job import NO_OFFSET, CleaningJob, LastRecord
from tidelog.storage.cleaner.log_facts import facts_of, job_of
from tidelog.storage.cleaner.selection import LogFacts, assess

SEED = bytes(16)


def broker() -> CleanedBroker:
    clock = SimClock()
    return CleanedBroker(SimFileSystem(clock, 1), clock, cleaner=CleanerConfig(is_enabled=False)).start()


def facts(node: CleanedBroker) -> LogFacts:
    return facts_of(node.log(), node.logs.directories["/disk/logs"])


def job(node: CleanedBroker) -> CleaningJob:
    settings = node.cleaner.config.settings_for(node.log().config)
    return job_of(node.log(), assess(facts(node), node.now), settings, SEED, node.now)


def transactional(node: CleanedBroker, producer_id: int, sequence: int) -> int:
    node.log().producers.config.verification_enabled = False
    return node.put(
        [(b"k", b"v")], producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True
    )


def test_all_closed_segments_up_to_the_first_that_may_not_be_touched() -> None:
    node = broker()
    node.fill()
    found, log = job(node), node.log()
    assert [each.base_offset for each in found.segments] == list(log.segments.base_offsets[:-1])
    assert [each.size_bytes for each in found.segments] == [
        log.segments[i].size_bytes for i in range(len(log.segments) - 1)
    ]
    assert all(each.time_index_bytes for each in found.segments), "grouping goes by the indexes, too"
    assert found.first_uncleanable_offset == log.segments.active.base_offset
    assert (found.generation, found.directory, found.seed) == (log.generation, log.directory, SEED)


def test_an_aborted_transaction_whose_marker_is_not_cleaned_yet_is_known() -> None:
    node = broker()
    node.put([(b"a", b"1")])
    first = transactional(node, 7, 0)
    second = transactional(node, 8, 0)
    node.log().roll(node.now)
    node.put([(b"b", b"1")])
    node.log().roll(node.now)
    node.end_transaction(7, 0, committed=False)
    node.end_transaction(8, 0, committed=True)
    node.log().update_high_watermark(node.log().log_end_offset)
    node.make_durable()
    found = job(node)
    (aborted,) = found.aborted_transactions
    assert (aborted.producer_id, aborted.first_offset) == (7, first)
    assert aborted.last_offset >= found.first_uncleanable_offset > second


def test_the_last_batch_of_each_live_producer_is_known() -> None:
    node = broker()
    offset = transactional(node, 7, 0)
    node.end_transaction(7, 0, committed=True)
    transactional(node, 9, 0)
    node.end_transaction(9, 1, committed=False)  # another epoch: its earlier records no longer count
    node.make_durable()
    assert job(node).last_records == {7: LastRecord(offset, 0), 9: LastRecord(NO_OFFSET, 1)}


def test_an_open_transaction_holds_the_cleaner_back() -> None:
    node = broker()
    node.fill(batches=3)
    transactional(node, 7, 0)
    node.log().roll(node.now)
    node.put([(b"z", b"1")])
    node.log().roll(node.now)
    node.make_durable()
    assert assess(facts(node), node.now).first_uncleanable_offset <= node.log().last_stable_offset


def test_timestamps_are_read_only_where_a_lag_asks_for_them() -> None:
    node = broker()
    node.fill()
    assert {each.largest_timestamp for each in facts(node).segments} == {-1}
    node.log().config = replace(COMPACTED, min_compaction_lag_ms=1)
    assert all(each.largest_timestamp > 0 and each.first_timestamp > 0 for each in facts(node).segments)
    node.logs.directories["/disk/logs"].cleaner_offsets.load({T0: node.log().segments[2].base_offset})
    assert [each.largest_timestamp > 0 for each in facts(node).segments][:3] == [False, False, True]


def test_a_start_that_a_crash_may_take_back_is_no_start_of_the_dirty_part() -> None:
    node = broker()
    node.fill()
    node.log().delete_records(5)
    assert facts(node).log_start_offset == 0
    node.checkpoint()
    assert facts(node).log_start_offset == 5
