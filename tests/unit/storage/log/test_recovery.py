"""After an unclean stop: what is cut, what is rebuilt, and what must never be cut."""

from typing import Any

import pytest
from tests.sim.broker import T0, Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.ports.files import OpenMode
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.log.reading import FetchIsolation, read

ONE_BATCH = len(batch_of([b"0"], 0))
LOG = "/disk/logs/t-0/00000000000000000000.log"
DIRECTORY = "/disk/logs/t-0"
SMALL = topic_config(internal_segment_bytes=3 * ONE_BATCH, index_interval_bytes=1)


def broker() -> Broker:
    clock = SimClock()
    return Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=SMALL).start()


def restart(node: Broker) -> Broker:
    node.fs.kill()
    return Broker(node.fs, node.clock, config=SMALL).start()


def produce(node: Broker, count: int, first: int = 0) -> None:
    for i in range(first, first + count):
        node.produce([b"%d" % i], producer_id=3, producer_epoch=0, base_sequence=i)


def append_bytes(node: Broker, path: str, data: bytes) -> None:
    file = node.fs.open(path, OpenMode.WRITE)
    file.write_at(file.size(), [data])
    file.close()


@pytest.mark.parametrize("cut", [1, 12, 17, 60, ONE_BATCH - 1])
def test_a_half_batch_at_the_end_is_cut_and_reported(cut: int) -> None:
    node = broker()
    produce(node, 2)
    append_bytes(node, LOG, batch_of([b"x"], 0)[:cut])
    again = restart(node)
    assert [value for _, value in contents(again.log())] == [b"0", b"1"]
    ((partition, truncation),) = again.progress.truncations
    assert (partition, truncation.path, truncation.offset, truncation.truncated_bytes) == (T0, LOG, 2, cut)
    assert node.fs.stat(LOG).size == 2 * ONE_BATCH
    produce(again, 1, first=2)
    assert contents(again.log())[-1] == (2, b"2")


def test_what_follows_a_cut_segment_goes() -> None:
    node = broker()
    produce(node, 8)
    node.fs.open(LOG, OpenMode.WRITE).write_at(ONE_BATCH + 30, [b"damage"])
    again = restart(node)
    log = again.log()
    assert contents(log) == [(0, b"0")]
    assert [each.offset for _, each in again.progress.truncations] == [1, 3, 6]
    assert list(log.segments.base_offsets) == [0]
    assert log.snapshots.offsets == []
    assert log.producers.producers[3].last_sequence == 0


def test_a_segment_that_lost_its_end_at_a_batch_is_not_taken_for_whole() -> None:
    node = broker()
    produce(node, 8)
    node.fs.open(LOG, OpenMode.WRITE).truncate(ONE_BATCH)
    again = restart(node)
    assert contents(again.log()) == [(0, b"0")]
    assert "lost its end" in again.progress.truncations[0][1].reason


@pytest.mark.parametrize("position", [10, 16, 30, 2 * ONE_BATCH + 40])
def test_damage_below_the_recovery_point_is_marked_and_not_cut(position: int) -> None:
    node = broker()
    produce(node, 4)
    node.flush()
    node.checkpoint()
    node.fs.rot(LOG, [position * 8])
    before = node.fs.open(LOG, OpenMode.READ).read_at(0, 1000)
    for _ in range(2):  # the second start, too, cuts nothing
        # The checkpoint is 3, so the first segment would be trusted unread: scan it as a log without indexes is.
        node.fs.kill()
        node.fs.remove_file(LOG.replace(".log", ".index"))
        node = Broker(node.fs, node.clock, config=SMALL).start()
        assert node.logs.find(T0) is ErrorCode.KAFKA_STORAGE_ERROR
        assert node.logs.directories["/disk/logs"].corrupt[T0].path == LOG
        assert any("set aside" in problem and LOG in problem for problem in node.progress.problems)
        assert node.fs.open(LOG, OpenMode.READ).read_at(0, 1000) == before, "nothing is cut"
        node.checkpoint()
        node.fs.open(LOG.replace(".log", ".index"), OpenMode.CREATE).close()


def test_no_clean_stop_while_a_log_is_set_aside() -> None:
    node = broker()
    produce(node, 2)
    node.flush()
    node.checkpoint()
    node.fs.rot(LOG, [30 * 8])
    again = restart(node)
    again.stop()
    assert ".kafka_cleanshutdown" not in node.fs.list_directory("/disk/logs")
    assert Broker(node.fs, node.clock, config=SMALL).start().logs.directories["/disk/logs"].corrupt


def test_a_log_that_ends_before_its_recovery_point_is_marked() -> None:
    node = broker()
    produce(node, 3)
    node.flush()
    node.checkpoint()
    node.fs.open(LOG, OpenMode.WRITE).truncate(ONE_BATCH)
    again = restart(node)
    assert "was durable up to 2" in str(again.logs.directories["/disk/logs"].corrupt[T0])


def test_only_what_lies_past_the_recovery_point_is_scanned() -> None:
    node = broker()
    produce(node, 9)
    node.flush()
    node.checkpoint()
    node.fs.rot(LOG, [30 * 8])  # below the recovery point, where recovery does not read
    again = restart(node)
    assert again.log().log_end_offset == 9
    assert again.progress.bytes_total == 3 * ONE_BATCH


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "odd size"])
def test_an_index_that_can_not_be_used_is_rebuilt(suffix: str, damage: str) -> None:
    node = broker()
    produce(node, 5)
    node.stop()
    path = LOG.replace(".log", suffix)
    whole = node.fs.open(path, OpenMode.READ).read_at(0, 1000)
    assert whole
    if damage == "missing":
        node.fs.remove_file(path)
    else:
        append_bytes(node, path, b"123")
    again = Broker(node.fs, node.clock, config=SMALL).start()
    assert again.progress.problems
    assert node.fs.open(path, OpenMode.READ).read_at(0, 1000) == whole
    assert [value for _, value in contents(again.log())] == [b"0", b"1", b"2", b"3", b"4"]


def test_left_overs_are_tidied_up() -> None:
    node = broker()
    produce(node, 2)
    for name in ("7.log.deleted", "9.index", "0.log.cleaned", "5.snapshot.deleted"):
        digits, _, rest = name.partition(".")
        append_name = f"{DIRECTORY}/{int(digits):020d}.{rest}"
        node.fs.open(append_name, OpenMode.CREATE_NEW).close()
    node.fs.open(f"{DIRECTORY}/leader-epoch-checkpoint.tmp", OpenMode.CREATE_NEW).close()
    again = restart(node)
    assert [value for _, value in contents(again.log())] == [b"0", b"1"]
    names = node.fs.list_directory(DIRECTORY)
    assert not [name for name in names if name.endswith((".deleted", ".cleaned", ".tmp")) or "9.index" in name]


def test_a_damaged_snapshot_or_epoch_file_is_replaced_by_the_log() -> None:
    node = broker()
    produce(node, 3)
    node.epoch = 4
    produce(node, 5, first=3)
    epochs = node.log().epochs.entries()
    node.stop()
    node.fs.rot(f"{DIRECTORY}/{8:020d}.snapshot", [90])
    append_bytes(node, f"{DIRECTORY}/leader-epoch-checkpoint", b"nonsense")
    again = Broker(node.fs, node.clock, config=SMALL).start()
    assert again.log().producers.producers[3].last_sequence == 7
    assert again.log().epochs.entries() == epochs
    assert len(again.progress.problems) == 2


def test_aborted_transactions_and_the_stable_offset_are_rebuilt() -> None:
    node = broker()
    options: dict[str, Any] = {"producer_id": 8, "producer_epoch": 0, "is_transactional": True}
    node.logs._context.producer_config.verification_enabled = False
    node.produce([b"a"], base_sequence=0, **options)
    node.end_transaction(8, 0, committed=False)
    node.produce([b"b"], base_sequence=1, **options)
    node.produce([b"c"])
    node.log().update_high_watermark(4)
    before = read(node.log(), 0, 1000, FetchIsolation.TXN_COMMITTED)
    assert [(each.first_offset, each.last_offset) for each in before.aborted] == [(0, 1)]
    node.checkpoint()
    log = restart(node).log()
    assert (log.high_watermark, log.last_stable_offset) == (4, 2)
    after = read(log, 0, 1000, FetchIsolation.TXN_COMMITTED)
    assert after.aborted == before.aborted
    assert after.size_bytes == before.size_bytes


def test_old_records_behind_new_ones_are_known_by_their_epoch() -> None:
    """A truncation that was lost with the power brings whole batches back, with right checksums."""
    node = broker()
    node.epoch = 1
    produce(node, 3)
    old = node.log().segments.first.read(2 * ONE_BATCH, ONE_BATCH)
    node.truncate(1)
    node.epoch = 2
    node.produce([b"n"])
    append_bytes(node, LOG, old)
    again = restart(node)
    assert len(again.progress.truncations) == 1
    assert contents(again.log()) == [(0, b"0"), (1, b"n")]


@pytest.mark.parametrize("is_clean", [True, False])
def test_a_batch_outside_of_its_open_transaction_is_told(is_clean: bool) -> None:
    """No leader accepts such a batch, so only damage or another program can have put it there. It is reported, and can
    be read all the same."""
    node = broker()
    log = node.log()
    for offset, is_inside in ((0, True), (1, False)):
        options = BatchOptions(producer_id=5, producer_epoch=0, base_sequence=offset, is_transactional=is_inside)
        builder = BatchBuilder(offset, options=options)
        builder.append(node.now, None, b"%d" % offset)
        data = builder.build()
        log.segments.active.append([data], [AppendedBatch(offset, offset, node.now, len(data))])
    log.log_end_offset = 2
    if is_clean:
        node.stop()
        for name in node.fs.list_directory(DIRECTORY):
            if name.endswith(".snapshot"):
                node.fs.remove_file(f"{DIRECTORY}/{name}")
    again = restart(node)
    expected = "offset 1: producer 5 has a transaction open since offset 0"
    assert [each for each in again.progress.problems if expected in each], again.progress.problems
    assert contents(again.log()) == [(0, b"0"), (1, b"1")]
