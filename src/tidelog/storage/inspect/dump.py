"""What is in a file of a log, row by row: the counterpart of kafka-dump-log, for every kind of file that a log
directory holds.

    for item in dump_file(fs, path, DumpOptions(records=True)):
        ...  a Row to show, or a Finding: what is wrong, and where

Nothing raises over what a file holds: damage is a Finding, behind the rows that could be read. How rows look is the
caller's business, and so is what keys and values mean: the coordinators' formats are not known at this layer.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.ports.errors import StorageFault
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import name_of
from tidelog.storage.checkpoints.errors import CorruptFileError
from tidelog.storage.errors import CorruptSegmentError, LogError
from tidelog.storage.inspect.batch_rows import Decoder, dump_batches
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.index_rows import dump_index
from tidelog.storage.inspect.log_files import METADATA_SNAPSHOT_SUFFIX
from tidelog.storage.inspect.rows import Row
from tidelog.storage.inspect.small_rows import SMALL_FILES, dump_small_file, dump_snapshot
from tidelog.storage.names import LOG_SUFFIX, SNAPSHOT_SUFFIX, parse_segment_name


@dataclass(slots=True)
class DumpOptions:
    records: bool = False  # each record, not only each batch
    verify_index: bool = False  # hold the entries of an index against the log beside it
    decoder: Decoder | None = None


def dump_file(fs: FileSystem, path: str, options: DumpOptions) -> Iterator[Row | Finding]:
    try:
        yield from _dump(fs, path, options)
    except CorruptSegmentError as damage:
        yield Finding(damage.path, damage.reason, damage.position)
    except (LogError, CorruptFileError) as damage:
        yield Finding(damage.path, damage.reason)
    except StorageFault as fault:
        yield Finding(fault.path, fault.detail)


def is_log_file(name: str) -> bool:
    """Tell whether `dump_file` knows what to do with a file of this name."""
    known = parse_segment_name(name) is not None or name in SMALL_FILES
    return known or name.endswith(METADATA_SNAPSHOT_SUFFIX)


def _dump(fs: FileSystem, path: str, options: DumpOptions) -> Iterator[Row | Finding]:
    name = name_of(path)
    segment = parse_segment_name(name)
    if name in SMALL_FILES:
        yield from dump_small_file(fs, path, name)
    elif name.endswith(METADATA_SNAPSHOT_SUFFIX) or (segment and segment.kind == LOG_SUFFIX):
        yield from dump_batches(fs, path, options.records, options.decoder)
    elif segment and segment.kind == SNAPSHOT_SUFFIX:
        yield from dump_snapshot(fs, path)
    elif segment:
        yield from dump_index(fs, path, segment, options.verify_index)
    else:
        fs.stat(path)  # raises where there is no such file, which is then what the finding says
        yield Finding(path, "no file of a log has such a name")
