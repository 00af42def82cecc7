"""Kafka's text checkpoints: they read back as written, damage is refused, and a replaced one is the old or the new."""

import pytest
from tests.unit.storage.power import machine, worlds_after_a_cut

from tidelog.model.ids import TopicPartition
from tidelog.ports.durable import TEMPORARY_SUFFIX, replace_durably
from tidelog.ports.errors import IoError
from tidelog.sim.faults import Op
from tidelog.storage.checkpoints.errors import CorruptCheckpointError
from tidelog.storage.checkpoints.small_files import read_whole
from tidelog.storage.checkpoints.text import (
    EpochEntry,
    decode_epochs,
    decode_offsets,
    encode_offsets,
    read_epochs,
    read_offsets,
    write_epochs,
    write_offsets,
)

PATH = "/disk/recovery-point-offset-checkpoint"
OLD = {TopicPartition("orders", 0): 5}
NEW = {TopicPartition("orders", 0): 900, TopicPartition("a.b_c-d", 12): 2**63 - 1}


def test_offsets_are_read_as_they_were_written() -> None:
    fs = machine()
    assert read_offsets(fs, PATH) == {}
    write_offsets(fs, PATH, OLD)
    write_offsets(fs, PATH, NEW)
    assert read_offsets(fs, PATH) == NEW
    assert read_whole(fs, PATH) == b"0\n2\norders 0 900\na.b_c-d 12 9223372036854775807\n"
    assert fs.list_directory("/disk") == ["orders-0", "recovery-point-offset-checkpoint"]


def test_epochs_are_read_as_they_were_written() -> None:
    fs = machine()
    assert read_epochs(fs, PATH) == []
    write_epochs(fs, PATH, [EpochEntry(0, 0), EpochEntry(4, 17)])
    assert read_epochs(fs, PATH) == [EpochEntry(0, 0), EpochEntry(4, 17)]
    assert read_whole(fs, PATH) == b"0\n2\n0 0\n4 17\n"


def test_blanks_and_line_ends_that_java_lets_pass() -> None:
    assert decode_offsets(b"0\r\n1\r\norders \t 0  5\r\n", PATH) == OLD


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        (b"\n", "version"),
        (b"1\n0\n", "version"),
        (b"x\n0\n", "version"),
        (b"0\n", "ends before"),
        (b"0\n2\norders 0 5\n", "announced"),
        (b"0\n0\norders 0 5\n", "announced"),
        (b"0\n-1\n", "not a number"),
        (b"0\n1\norders 0\n", "3 fields"),
        (b"0\n1\norders 0 5 6\n", "3 fields"),
        (b"0\n1\n orders 0 5\n", "3 fields"),
        (b"0\n1\norders 0 5 \n", "3 fields"),
        (b"0\n1\norders x 5\n", "not a number"),
        (b"0\n1\norders 0 -5\n", "not a number"),
        (b"0\n1\norders 0 1_0\n", "not a number"),
        ("0\n1\norders 0 \u0661\n".encode(), "not a number"),
        (b"0\n1\norders 2147483648 5\n", "not a number"),
        (b"0\n1\norders 0 9223372036854775808\n", "not a number"),
        (b"0\n2\norders 0 5\norders 0 6\n", "twice"),
        (b"0\n1\norders 0 \xff\n", "UTF-8"),
        (b"\0" * 40, "cut"),
    ],
)
def test_a_damaged_checkpoint_is_a_typed_error(contents: bytes, reason: str) -> None:
    with pytest.raises(CorruptCheckpointError, match=reason) as caught:
        decode_offsets(contents, PATH)
    assert caught.value.path == PATH


@pytest.mark.parametrize("contents", [b"0\n1\n-1 0\n", b"0\n1\n0 -1\n", b"0\n1\n0\n", b"0\n1\n2147483648 0\n"])
def test_a_damaged_epoch_checkpoint_is_a_typed_error(contents: bytes) -> None:
    with pytest.raises(CorruptCheckpointError):
        decode_epochs(contents, PATH)


def test_a_checkpoint_cut_at_any_byte_is_noticed() -> None:
    """A cut inside the last number is noticed, too, although a number is left."""
    whole = encode_offsets(NEW)
    for size in range(1, len(whole)):
        with pytest.raises(CorruptCheckpointError):
            decode_offsets(whole[:size], PATH)


def test_a_crash_leaves_the_old_or_the_new() -> None:
    seen = {"old": 0, "new": 0}
    for fs, completed in worlds_after_a_cut(
        lambda fs: write_offsets(fs, PATH, OLD), lambda fs: write_offsets(fs, PATH, NEW)
    ):
        found = read_offsets(fs, PATH)
        assert found == NEW or (found == OLD and not completed)
        seen["new" if found == NEW else "old"] += 1
        write_offsets(fs, PATH, OLD)  # works whatever the crash left beside it
        assert read_offsets(fs, PATH) == OLD
    assert min(seen.values()) > 5, seen


def test_a_crash_of_the_first_write_leaves_nothing_or_all() -> None:
    for fs, completed in worlds_after_a_cut(lambda fs: None, lambda fs: write_offsets(fs, PATH, NEW)):
        assert read_offsets(fs, PATH) == NEW or (read_offsets(fs, PATH) == {} and not completed)


@pytest.mark.parametrize("op", [Op.OPEN, Op.WRITE, Op.SYNC, Op.NAMES])
def test_a_fault_of_the_disk_is_handed_on_and_the_old_stays(op: Op) -> None:
    fs = machine()
    write_offsets(fs, PATH, OLD)
    fs.disk("/disk").faults.fail(op)
    with pytest.raises(IoError):
        write_offsets(fs, PATH, NEW)
    assert read_offsets(fs, PATH) == OLD


def test_an_unreadable_disk_is_not_an_empty_checkpoint() -> None:
    fs = machine()
    write_offsets(fs, PATH, OLD)
    fs.disk("/disk").faults.fail(Op.READ)
    with pytest.raises(IoError):
        read_offsets(fs, PATH)


def test_what_lies_beside_it_from_a_crash_is_not_read() -> None:
    fs = machine()
    write_offsets(fs, PATH, OLD)
    replace_durably(fs, PATH + TEMPORARY_SUFFIX, b"0\n9")
    assert read_offsets(fs, PATH) == OLD
