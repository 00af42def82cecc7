"""A cleaned segment takes the place of those it was made from, whatever happens meanwhile.

    write    <base>.*.cleaned                      durable, names too (`cleaning`)
    commit   .cleaned -> .swap, every file         sync the directory
    retire   the other replaced -> .deleted        sync the directory
    finish   .swap -> the names without suffix     sync the directory

The suffixes are Kafka's, and either broker completes what the other left. The state on disk says how far it got:

- A `.cleaned` file is there: not committed. It goes, and so does every `.swap` of its offset or a higher one; the old
  segments have not been touched. (One rename may be durable and another not, in any order: committed is only what has
  no `.cleaned` left.)
- Only `.swap` files are there: committed. The old segments between the first and the last offset of the new one go;
  the new one ends at the same batch as its last source (`retain`), so these are exactly the ones it replaces. The
  first source has the same names as the new segment, and is replaced by renaming over it, file by file.

Syncs in between keep the steps apart after a power loss. Were the last two mixed, a log without `.swap` could still
have an old segment, with the same offsets as a part of the new one.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Final

from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.errors import DiskFull, NotFound
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.cleaner.reading import read_chunks
from tidelog.storage.names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    NO_SUFFIX,
    SEGMENT_KINDS,
    SWAP_SUFFIX,
    SegmentName,
    parse_segment_name,
    segment_name,
)
from tidelog.storage.segment.descriptors import Descriptors

_SCAN_BYTES: Final = 1 << 20


def swap(descriptors: Descriptors, directory: str, base_offset: int, replaced: Sequence[int]) -> None:
    """Take all steps of a swap, waiting for the disk. Nothing else may change the log meanwhile."""
    for _ in swap_steps(descriptors, directory, base_offset, replaced):
        descriptors.fs.sync_directory(directory)


def swap_steps(
    descriptors: Descriptors, directory: str, base_offset: int, replaced: Sequence[int]
) -> Generator[None, None, None]:
    """Swap step by step. Each yield asks for a sync of the directory, to be completed before the next step: three in
    all.

    Check the log's generation before the first step: from the first yield on the swap is committed, and a recovery
    would complete it. The files of the segments in `replaced`, but for `base_offset`, are then there as `.deleted`, to
    be removed after `file.delete.delay.ms`; those of `base_offset` itself are gone, and readers that have them open
    read on.
    """
    commit_swap(descriptors, directory, base_offset)
    yield
    retire_replaced(descriptors, directory, base_offset, replaced)
    yield
    _rename(descriptors, directory, base_offset, SWAP_SUFFIX, NO_SUFFIX)
    yield


def commit_swap(descriptors: Descriptors, directory: str, base_offset: int) -> None:
    _rename(descriptors, directory, base_offset, CLEANED_SUFFIX, SWAP_SUFFIX)


def retire_replaced(descriptors: Descriptors, directory: str, base_offset: int, replaced: Sequence[int]) -> None:
    """Rename the files of the replaced segments to `.deleted`. Where there is no room for the longer name they are
    removed at once: removing takes none."""
    for offset in replaced:
        if offset != base_offset:
            try:
                _rename(descriptors, directory, offset, NO_SUFFIX, DELETED_SUFFIX)
            except DiskFull:
                for kind in SEGMENT_KINDS:
                    descriptors.remove(join(directory, segment_name(offset, kind)))


def _rename(descriptors: Descriptors, directory: str, base_offset: int, before: str, after: str) -> None:
    for kind in SEGMENT_KINDS:
        source = join(directory, segment_name(base_offset, kind, before))
        if exists(descriptors.fs, source):
            descriptors.rename(source, join(directory, segment_name(base_offset, kind, after)))


def remove_cleaned(descriptors: Descriptors, directory: str, base_offset: int) -> None:
    """Remove the files of a swap that is called off. (A power loss may bring the files back; recovery removes them
    again.)"""
    for kind in SEGMENT_KINDS:
        descriptors.remove(join(directory, segment_name(base_offset, kind, CLEANED_SUFFIX)))


def remove_all_cleaned(descriptors: Descriptors, directory: str) -> None:
    """Remove what a cleaning that died or was called off has left. Call this before the next cleaning begins: a crash
    in the middle of its swaps would take a stray `.cleaned` for a sign that they were never committed."""
    for name in _segment_names(descriptors.fs, directory):
        if name.state == CLEANED_SUFFIX:
            descriptors.remove(join(directory, segment_name(*name)))


@dataclass(slots=True)
class CompletedSwaps:
    """The changes that recovery made about swaps that were under way."""

    completed: list[int] = field(default_factory=list)  # base offsets of the new segments
    removed: list[str] = field(default_factory=list)  # names of files that are gone


def complete_swap(descriptors: Descriptors, directory: str) -> CompletedSwaps:
    """Complete or take back the swaps of a log, before its segments are loaded. Afterwards no file of it is `.cleaned`
    or `.swap`, and each group has either its old segments or its new one. May itself be interrupted. Raises
    CorruptSegmentError when a `.swap` can not be read: then nobody knows what it replaces, and a person has to look."""
    done = CompletedSwaps()
    names = _segment_names(descriptors.fs, directory)
    cleaned = [name for name in names if name.state == CLEANED_SUFFIX]
    first_cleaned = min((name.base_offset for name in cleaned), default=None)
    swaps = [name for name in names if name.state == SWAP_SUFFIX]
    aborted = [name for name in swaps if first_cleaned is not None and name.base_offset >= first_cleaned]
    # In this order: once the `.cleaned` are gone, a `.swap` that is still there would be taken for committed.
    _remove(descriptors, directory, aborted, done)
    _remove(descriptors, directory, cleaned, done)
    committed = sorted({name.base_offset for name in swaps if name not in aborted})
    replaced = [name for base_offset in committed for name in _replaced(descriptors.fs, directory, base_offset, names)]
    _remove(descriptors, directory, replaced, done)
    for base_offset in committed:
        _rename(descriptors, directory, base_offset, SWAP_SUFFIX, NO_SUFFIX)
        done.completed.append(base_offset)
    if committed:
        descriptors.fs.sync_directory(directory)
    return done


def _segment_names(fs: FileSystem, directory: str) -> list[SegmentName]:
    """Return the names of the logs and indexes; the snapshots of producers follow their segments when the log is
    loaded."""
    parsed = (parse_segment_name(name) for name in fs.list_directory(directory))
    return [name for name in parsed if name is not None and name.kind in SEGMENT_KINDS]


def _remove(descriptors: Descriptors, directory: str, names: Iterable[SegmentName], done: CompletedSwaps) -> None:
    """Remove these files, and make that durable before anything else happens."""
    texts = [segment_name(*name) for name in names]
    for text in texts:
        descriptors.remove(join(directory, text))
    if texts:
        descriptors.fs.sync_directory(directory)
    done.removed += texts


def _replaced(fs: FileSystem, directory: str, base_offset: int, names: Sequence[SegmentName]) -> list[SegmentName]:
    """Return the old files that a committed swap replaces. Where the `.swap` of the log itself is gone only the last
    renames are missing, and there are none."""
    path = join(directory, segment_name(base_offset, LOG_SUFFIX, SWAP_SUFFIX))
    if not exists(fs, path):
        return []
    next_offset = base_offset
    for chunk in read_chunks(fs, path, fs.stat(path).size, _SCAN_BYTES):
        next_offset = chunk.batches[-1].batch.header.last_offset + 1
    return [name for name in names if name.state == NO_SUFFIX and base_offset < name.base_offset < next_offset]


def exists(fs: FileSystem, path: str) -> bool:
    try:
        fs.stat(path)
    except NotFound:
        return False
    return True
