"""A cleaned segment is swapped in, unless the log has changed in a way that makes it worthless."""

from tests.sim.broker import T0, Broker, batch_of, contents, topic_config

from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.appended import Validated
from tidelog.storage.follower_check import check_follower
from tidelog.storage.log import Log
from tidelog.storage.log_swap import swap_in
from tidelog.storage.names import CLEANED_SUFFIX
from tidelog.storage.segment import Segment

ONE_BATCH = len(batch_of([b"0"], 0))
CONFIG = topic_config(internal_segment_bytes=2 * ONE_BATCH, file_delete_delay_ms=10)


def broker() -> Broker:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=CONFIG).start()
    for i in range(5):
        node.produce([b"%d" % i])
    node.log().update_high_watermark(5)
    return node


def clean(log: Log) -> None:
    """What a cleaner might leave of the first two segments: the batches at 1 and 3."""
    data = b"".join(segment.read(ONE_BATCH, ONE_BATCH) for segment in (log.segments[0], log.segments[1]))
    checked = check_follower(memoryview(data), 0, len(data), 0, 0)
    assert isinstance(checked, Validated)
    cleaned = Segment.create(log.descriptors, log.directory, 0, suffix=CLEANED_SUFFIX)
    cleaned.append(checked.pieces, checked.batches)
    cleaned.seal()
    cleaned.flush()


def test_a_cleaned_segment_takes_the_place_of_its_sources() -> None:
    node = broker()
    log = node.log()
    clean(log)
    assert swap_in(log, log.generation, 0, [0, 2], node.now)
    left = [(1, b"1"), (3, b"3"), (4, b"4")]
    assert contents(log) == left
    assert list(log.segments.base_offsets) == [0, 4]
    assert f"{2:020d}.log.deleted" in node.fs.list_directory(log.directory)
    node.clock.advance(10)
    node.logs.retain(node.now)
    assert not [name for name in node.fs.list_directory(log.directory) if "deleted" in name]
    node.fs.lose_power()
    again = Broker(node.fs, node.clock, config=CONFIG).start().log()
    assert contents(again) == left[: len(contents(again))]


def test_a_truncation_meanwhile_makes_it_worthless() -> None:
    node = broker()
    log = node.log()
    generation = log.generation
    clean(log)
    node.logs.truncate({T0: 3}, node.now)
    assert not swap_in(log, generation, 0, [0, 2], node.now)
    assert [value for _, value in contents(log)] == [b"0", b"1", b"2"]
    assert not [name for name in node.fs.list_directory(log.directory) if "cleaned" in name]


def test_the_active_segment_is_never_replaced() -> None:
    node = broker()
    log = node.log()
    clean(log)
    assert not swap_in(log, log.generation, 0, [0, 2, 4], node.now)
    assert len(contents(log)) == 5
