"""The entries of the three indexes as rows, each held against its neighbours and, if asked, against the log."""

from collections.abc import Iterator

from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join, parent_of
from tidelog.storage.inspect.batches import read_batches
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.index_check import OffsetIndexCheck, TimeIndexCheck
from tidelog.storage.inspect.indexes import read_offset_index, read_time_index, read_transaction_index
from tidelog.storage.inspect.rows import Row
from tidelog.storage.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    SegmentName,
    segment_name,
)


def dump_index(fs: FileSystem, path: str, name: SegmentName, verify: bool) -> Iterator[Row | Finding]:
    if name.kind == INDEX_SUFFIX:
        yield from _dump_offset_index(fs, path, name, verify)
    elif name.kind == TIME_INDEX_SUFFIX:
        yield from _dump_time_index(fs, path, name, verify)
    else:
        yield from _dump_transaction_index(fs, path, name)


def _dump_offset_index(fs: FileSystem, path: str, name: SegmentName, verify: bool) -> Iterator[Row | Finding]:
    for _, entry in read_offset_index(fs, path, name.base_offset):
        yield Row("offset index entry", {"offset": entry.offset, "position": entry.position})
    yield from _check(fs, OffsetIndexCheck(fs, path, name.base_offset), name, verify)


def _dump_time_index(fs: FileSystem, path: str, name: SegmentName, verify: bool) -> Iterator[Row | Finding]:
    for _, entry in read_time_index(fs, path, name.base_offset):
        yield Row("time index entry", {"timestamp": entry.timestamp, "offset": entry.offset})
    yield from _check(fs, TimeIndexCheck(fs, path, name.base_offset), name, verify)


def _check(
    fs: FileSystem, check: OffsetIndexCheck | TimeIndexCheck, name: SegmentName, verify: bool
) -> Iterator[Finding]:
    """Hold the index against the log, where `verify` asks for it. A log that is damaged itself ends the check with
    CorruptSegmentError: what lies behind the damage can not be judged."""
    if not verify:
        check.finish_without_log()
        yield from check.findings
        return
    log = join(parent_of(check.path), segment_name(name.base_offset, LOG_SUFFIX, name.state))
    try:
        for found in read_batches(fs, log):
            check.pass_batch(found)
        check.finish()
    finally:
        yield from check.findings


def _dump_transaction_index(fs: FileSystem, path: str, name: SegmentName) -> Iterator[Row | Finding]:
    """Yield the entries, which must be in the order of their last offsets, by which a fetch looks them up. The log
    beside it has no more to say: which transactions were aborted only a replay of all segments tells, and `verify` does
    that."""
    last = name.base_offset - 1
    for at, aborted in read_transaction_index(fs, path):
        yield Row("aborted transaction", aborted._asdict())
        if aborted.last_offset < last:
            yield Finding(path, f"an entry that ends at offset {aborted.last_offset} comes after {last}", at)
        if aborted.first_offset > aborted.last_offset:
            yield Finding(path, f"a transaction from {aborted.first_offset} to {aborted.last_offset}", at)
        last = max(last, aborted.last_offset)
