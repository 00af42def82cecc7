"""Partition directories whose making was interrupted: there was no room for the next file, or the process died.

A log is made in this order: its directory, `partition.metadata`, the first segment. What is there before the first
record was written is no loss, so it is taken away, which needs no room, and the log is made again from the beginning.
"""

from typing import Final

from tidelog.ports.durable import TEMPORARY_SUFFIX
from tidelog.ports.errors import AlreadyExists, NotFound
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.partition_metadata import PARTITION_METADATA
from tidelog.storage.checkpoints.text import LEADER_EPOCH_CHECKPOINT
from tidelog.storage.names import LOG_SUFFIX, NO_SUFFIX, parse_segment_name
from tidelog.storage.segment.descriptors import Descriptors

_SMALL_FILES: Final = (PARTITION_METADATA, LEADER_EPOCH_CHECKPOINT)


def was_never_made(descriptors: Descriptors, directory: str) -> bool:
    """Tell whether the making of a log was interrupted before its topic's id was written. A directory that has the id
    may be one whose truncation was interrupted, which has no segment either for a moment: that one is loaded, not
    removed."""
    names = descriptors.fs.list_directory(directory)
    if not all(name in _SMALL_FILES or name.endswith(TEMPORARY_SUFFIX) for name in names):
        return False
    return PARTITION_METADATA not in names or not descriptors.fs.stat(join(directory, PARTITION_METADATA)).size


def clear_half_made(descriptors: Descriptors, directory: str) -> None:
    """Remove everything from a directory in which a log was begun, and no record written. Where it holds anything else,
    raises AlreadyExists and touches nothing."""
    names = descriptors.fs.list_directory(directory)
    for name in names:
        if not _is_empty_beginning(descriptors, directory, name):
            raise AlreadyExists(directory, f"it is there, and holds {name}")
    for name in names:
        descriptors.remove(join(directory, name))


def _is_empty_beginning(descriptors: Descriptors, directory: str, name: str) -> bool:
    if name in _SMALL_FILES or name.endswith(TEMPORARY_SUFFIX):
        return True
    parsed = parse_segment_name(name)
    if parsed is None or parsed.state != NO_SUFFIX:
        return False
    return parsed.kind != LOG_SUFFIX or descriptors.fs.stat(join(directory, name)).size == 0


def remove_half_made(descriptors: Descriptors, directory: str) -> None:
    """Clear the directory as `clear_half_made` does, and remove it. It may be gone already."""
    try:
        clear_half_made(descriptors, directory)
        descriptors.fs.remove_directory(directory)
    except NotFound:
        return
