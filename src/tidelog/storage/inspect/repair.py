"""The way out for a replica that a broker has set aside: offline, under the directory's lock, and asked for by name.

    truncate      the log ends before the damage; what lies behind it goes into quarantine
    start over    the whole replica goes into quarantine; it is fetched anew from its leader, or begins empty

Nothing is ever deleted here: what is taken out of a log is in the quarantine before it is gone from the log, under its
own name, beside a note that says why. The recovery point is lowered last of all: until then a broker that starts finds
the damage again, and sets the replica aside again. Once it was lowered, that broker would cut by itself.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from tidelog.model.ids import TopicPartition
from tidelog.ports.durable import make_directory_durably, replace_durably, write_fully
from tidelog.ports.errors import AlreadyExists, CrossDevice
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.ports.paths import join, name_of, parent_of
from tidelog.storage.checkpoints.text import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offsets,
    write_offsets,
)
from tidelog.storage.inspect.damage import NOWHERE, Damage
from tidelog.storage.names import LOG_SUFFIX, SNAPSHOT_SUFFIX, SegmentName, parse_segment_name, segment_name

NOTE: Final = "repair.json"
_COPY_BYTES: Final = 1 << 20
# Entries that are too high are wrong; the recovery point comes last, see above.
_CHECKPOINTS: Final = (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)


def truncate(fs: FileSystem, damage: Damage, quarantine: str) -> list[str]:
    """Let the log end before the damage; return the names that went into the quarantine, a directory that must not
    exist yet. May be interrupted, and done again into another one."""
    assert damage.can_truncate
    assert damage.segment != NOWHERE
    directory = damage.directory
    _begin(fs, quarantine, {"action": "truncate", **_facts(damage)})
    affected = _behind(fs, damage)
    cut = segment_name(damage.segment, LOG_SUFFIX) if damage.position or damage.is_first else None
    for name in affected:
        if name != cut:
            _move_file(fs, join(directory, name), join(quarantine, name))
    fs.sync_directory(quarantine)
    fs.sync_directory(directory)
    if cut is not None:
        _copy_file(fs, join(directory, cut), join(quarantine, cut))
        fs.sync_directory(quarantine)
        _cut(fs, join(directory, cut), damage.position)
    _lower_checkpoints(fs, parent_of(directory), {damage.partition: damage.next_offset})
    return affected


def start_over(fs: FileSystem, directory: str, partition: TopicPartition, reason: str, quarantine: str) -> list[str]:
    """Take the whole replica out of its log directory; return the names that went with it."""
    names = fs.list_directory(directory)
    _begin(fs, quarantine, {"action": "start over", "partition": str(partition), "reason": reason})
    for name in reversed(names):  # the highest offsets first: what an interruption leaves is a log without its end
        _move_file(fs, join(directory, name), join(quarantine, name))
    fs.sync_directory(quarantine)
    fs.sync_directory(directory)
    fs.remove_directory(directory)
    fs.sync_directory(parent_of(directory))
    _lower_checkpoints(fs, parent_of(directory), {partition: 0})
    return names


def _facts(damage: Damage) -> dict[str, object]:
    return {
        "partition": str(damage.partition),
        "file": name_of(damage.path),
        "position": damage.position,
        "reason": damage.reason,
        "recovery_point": damage.recovery_point,
        "log_end_offset": damage.next_offset,
    }


def _begin(fs: FileSystem, quarantine: str, facts: dict[str, object]) -> None:
    """Make the quarantine, with its note. Raises AlreadyExists rather than to mix two repairs in one directory."""
    with suppress(AlreadyExists):
        make_directory_durably(fs, parent_of(quarantine))
    make_directory_durably(fs, quarantine)
    replace_durably(fs, join(quarantine, NOTE), (json.dumps(facts, indent=2) + "\n").encode())


def _behind(fs: FileSystem, damage: Damage) -> list[str]:
    """Return the files that go with the damage, the highest offset first, so that an interruption leaves no hole: all
    files of later segments, the indexes of the damaged one (they are built anew), and snapshots of what is no longer
    there."""
    parsed = ((name, parse_segment_name(name)) for name in fs.list_directory(damage.directory))
    affected = [(each.base_offset, name) for name, each in parsed if each is not None and _is_behind(each, damage)]
    return [name for _, name in sorted(affected, reverse=True)]


def _is_behind(name: SegmentName, damage: Damage) -> bool:
    if name.kind == SNAPSHOT_SUFFIX:
        return name.base_offset > damage.next_offset
    return name.base_offset >= damage.segment


def _move_file(fs: FileSystem, source: str, target: str) -> None:
    """Move the file; to another disk it is copied, durably, and only then removed."""
    try:
        fs.rename(source, target)
    except CrossDevice:
        _copy_file(fs, source, target)
        fs.sync_directory(parent_of(target))
        fs.remove_file(source)


def _copy_file(fs: FileSystem, source: str, target: str) -> None:
    original = fs.open(source, OpenMode.READ)
    copy = fs.open(target, OpenMode.CREATE_NEW)
    try:
        for position in range(0, original.size(), _COPY_BYTES):
            write_fully(copy, position, [original.read_at(position, _COPY_BYTES)])
        copy.sync()
    finally:
        original.close()
        copy.close()


def _cut(fs: FileSystem, path: str, position: int) -> None:
    file = fs.open(path, OpenMode.WRITE)
    try:
        file.truncate(position)
        file.sync()
    finally:
        file.close()


def _lower_checkpoints(fs: FileSystem, directory: str, limits: Mapping[TopicPartition, int]) -> None:
    for path in (join(directory, name) for name in _CHECKPOINTS):
        offsets = read_offsets(fs, path)
        lowered = dict(_lowered(offsets.items(), limits))
        if lowered != offsets:
            write_offsets(fs, path, lowered)


def _lowered(
    offsets: Iterable[tuple[TopicPartition, int]], limits: Mapping[TopicPartition, int]
) -> Iterable[tuple[TopicPartition, int]]:
    """Yield the offsets, lowered to their limits. A log of which nothing is left has no entry."""
    for partition, offset in offsets:
        limit = limits.get(partition, offset)
        if limit or partition not in limits:
            yield partition, min(offset, limit)
