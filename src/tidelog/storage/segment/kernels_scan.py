"""Kernels of the segment: along batches and along index entries. Compiled by mypyc; the same file runs interpreted.

The rules are those of `records.kernels_decode`: input is `bytes`, every read is checked against the end of the buffer,
arithmetic never leaves 64 bits.
"""

from typing import Final

from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i32_be, write_i64_be
from mypy_extensions import i32, i64

from tidelog.records.errors import RecordError
from tidelog.records.kernels_walk import BatchIndex, batch_end, check_crc

OVERHEAD: Final = 61
MIN_LENGTH: Final = 49
MAGIC: Final = 2


class Checked:
    """The result of checking a chunk: how far it is good. `damage` is None where only the chunk ends."""

    def __init__(self, next_offset: i64, leader_epoch: i64, first_gap: i64) -> None:
        self.end: i64 = 0
        self.next_offset = next_offset
        self.leader_epoch = leader_epoch
        self.first_gap = first_gap  # the offset at which batches of the segment first leave offsets out
        self.damage: str | None = None
        self.doubtful_from = next_offset  # with damage: no offset below this is in question


def check_batches(
    b: bytes,
    next_offset: i64,
    leader_epoch: i64,
    first_gap: i64,
    dense_from: i64,
    torn_from: i64,
    highest_offset: i64,
) -> Checked:
    """Check header, checksum and order of each batch from the start of `b` on, until the first that is wrong or torn.

    No checksum covers a base offset. One that is too high shows as a gap where none can be (from `dense_from` on), or
    beyond the segment's reach (`highest_offset`, from `torn_from` on: older segments may reach too far). One that is
    too low is wrong itself, or an earlier one is too high: then there was a gap before that one. So behind batches
    without a gap nothing but the batch itself is in question.
    """
    checked = Checked(next_offset, leader_epoch, first_gap)
    view = memoryview(b)
    end: i64 = len(b)
    p: i64 = 0
    try:
        after: i64 = batch_end(b, p, end)
        while after >= 0:
            check_crc(b, view, p, after)
            base: i64 = read_i64_be(b, p)
            epoch: i64 = i64(read_i32_be(b, p + 12))
            if base < checked.next_offset:
                checked.damage = f"base offset {base} where {checked.next_offset} or more was due"
                if checked.first_gap < checked.next_offset:
                    checked.doubtful_from = checked.first_gap
                break
            if base > checked.next_offset and checked.next_offset >= dense_from:
                checked.damage = f"base offset {base} where {checked.next_offset} was due"
                break
            if base > highest_offset - i64(read_i32_be(b, p + 23)) and checked.next_offset >= torn_from:
                checked.damage = f"base offset {base}, which is beyond the reach of the segment"
                break
            if epoch >= 0 and epoch < checked.leader_epoch:
                checked.damage = f"leader epoch {epoch} after {checked.leader_epoch}"
                break
            if base > checked.next_offset and checked.next_offset < checked.first_gap:
                checked.first_gap = checked.next_offset
            checked.next_offset = base + i64(read_i32_be(b, p + 23)) + 1
            checked.doubtful_from = checked.next_offset
            if epoch > checked.leader_epoch:
                checked.leader_epoch = epoch
            p = after
            after = batch_end(b, p, end)
    except RecordError as error:
        checked.damage = error.reason
    checked.end = p
    return checked


class Due:
    """The entries that the indexes get from the batches of a chunk, and what has to be known for the next chunk."""

    def __init__(self, bytes_since_entry: i64, timestamp: i64, offset: i64) -> None:
        self.bytes_since_entry = bytes_since_entry
        self.timestamp = timestamp  # the largest so far, and its batch's last offset
        self.offset = offset
        self.offset_entries: bytes = b""
        self.time_entries: bytes = b""


def entries_due(
    batches: BatchIndex,
    position: i64,
    base_offset: i64,
    interval: i64,
    bytes_since_entry: i64,
    timestamp: i64,
    offset: i64,
    last_entry_timestamp: i64,
) -> Due:
    """Return the entries for batches that lie from `position` on. The caller has made sure that offsets and positions
    fit."""
    due = Due(bytes_since_entry, timestamp, offset)
    offsets = BytesWriter()
    times = BytesWriter()
    rows: i64 = len(batches)
    row: i64 = 0
    while row < rows:
        if batches.max_timestamps[row] > due.timestamp:
            due.timestamp = batches.max_timestamps[row]
            due.offset = batches.last_offsets[row]
        if due.bytes_since_entry > interval:
            write_i32_be(offsets, i32(batches.last_offsets[row] - base_offset))
            write_i32_be(offsets, i32(position + batches.positions[row]))
            if due.timestamp > last_entry_timestamp:
                last_entry_timestamp = due.timestamp
                write_i64_be(times, due.timestamp)
                write_i32_be(times, i32(due.offset - base_offset))
            due.bytes_since_entry = 0
        after: i64 = batches.positions[row + 1] if row + 1 < rows else batches.end
        due.bytes_since_entry += after - batches.positions[row]
        row += 1
    due.offset_entries = offsets.getvalue()
    due.time_entries = times.getvalue()
    return due


def is_batch(b: bytes, p: i64) -> bool:
    """Tell whether there is what a walk relies on: a length that leads forward, and no offset below 0."""
    return b[p + 16] == MAGIC and read_i32_be(b, p + 8) >= MIN_LENGTH and read_i64_be(b, p) >= 0 and b[p + 23] < 128


def skip_to_offset(b: bytes, p: i64, offset: i64) -> i64:
    """Return where the first batch from `p` on starts that reaches the offset, that is not a batch, or whose header is
    cut short."""
    end: i64 = len(b)
    while end - p >= OVERHEAD and is_batch(b, p):
        if offset - read_i64_be(b, p) <= i64(read_i32_be(b, p + 23)):  # the sum could leave 64 bits
            return p
        p += 12 + i64(read_i32_be(b, p + 8))
    return p


def skip_to_time(b: bytes, p: i64, timestamp: i64) -> i64:
    """Do what `skip_to_offset` does, for the first batch with a record that is not before the time."""
    end: i64 = len(b)
    while end - p >= OVERHEAD and is_batch(b, p):
        if read_i64_be(b, p + 35) >= timestamp:
            return p
        p += 12 + i64(read_i32_be(b, p + 8))
    return p


def skip_to_position(b: bytes, p: i64, limit: i64) -> i64:
    """Do what `skip_to_offset` does, for the first batch that ends past `limit`, a position in `b` or behind it."""
    end: i64 = len(b)
    while end - p >= OVERHEAD and is_batch(b, p):
        after: i64 = p + 12 + i64(read_i32_be(b, p + 8))
        if after > limit:
            return p
        p = after
    return p


def last_up_to(block: bytes, count: i64, size: i64, at: i64, is_wide: bool, target: i64) -> i64:
    """The index of the last of `count` entries of `size` bytes whose field `at` that position (64 bits, or 32) is at
    most the target; -1 when there is none."""
    if count * size > len(block) or at < 0 or at + (8 if is_wide else 4) > size:
        raise ValueError(f"{count} entries of {size} bytes in a block of {len(block)}")
    low: i64 = 0
    high: i64 = count
    while low < high:
        middle: i64 = (low + high) // 2
        p: i64 = middle * size + at
        value: i64 = read_i64_be(block, p) if is_wide else i64(read_i32_be(block, p))
        if value <= target:
            low = middle + 1
        else:
            high = middle
    return low - 1
