"""What is damaged in a log directory where it was durable, found offline and without changing anything.

It is what a broker sets a replica aside for: damage below the recovery point, a log that ends before it, or a file that
makes no sense. A torn end behind the recovery point is none of it: the next start cuts that by itself, and says so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tidelog.model.ids import TopicPartition
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.partition_metadata import read_partition_metadata
from tidelog.storage.checkpoints.text import RECOVERY_POINT_CHECKPOINT, read_offsets
from tidelog.storage.directories.partition_directories import METADATA_LOG
from tidelog.storage.errors import InvalidNameError, LogError, UnsupportedSegmentError
from tidelog.storage.names import (
    LOG_SUFFIX,
    NO_SUFFIX,
    DirectoryState,
    parse_partition_directory,
    parse_segment_name,
    segment_name,
)
from tidelog.storage.segment.scan import Scan, scan

NOWHERE: Final = -1


@dataclass(slots=True)
class Damage:
    partition: TopicPartition
    directory: str  # the partition's
    path: str
    reason: str
    recovery_point: int
    segment: int = NOWHERE  # base offset of the first segment with damage; NOWHERE: not in a segment
    position: int = 0  # from where on it is damaged
    next_offset: int = 0  # where a truncation would let the log end
    behind_bytes: int = 0  # of the log, from the damage on
    can_truncate: bool = True
    is_first: bool = False  # there is no segment before it

    def __str__(self) -> str:
        return f"{self.partition}: {self.path}: {self.reason}"


def find_damage(fs: FileSystem, directory: str, only: TopicPartition | None = None) -> Iterator[Damage]:
    """Yield the first damage of each log of a log directory, or of one of them. Reads every byte."""
    recovery_points = read_offsets(fs, join(directory, RECOVERY_POINT_CHECKPOINT))
    for name in fs.list_directory(directory):
        try:
            partition, state = parse_partition_directory(name)
        except InvalidNameError:
            continue
        if state is DirectoryState.CURRENT and name != METADATA_LOG and only in (None, partition):
            found = _look(fs, join(directory, name), partition, recovery_points.get(partition, 0))
            if found is not None:
                yield found


def _look(fs: FileSystem, directory: str, partition: TopicPartition, recovery_point: int) -> Damage | None:
    try:
        read_partition_metadata(fs, directory)
    except LogError as error:
        return Damage(partition, directory, error.path, error.reason, recovery_point, can_truncate=False)
    bases = _base_offsets(fs, directory)
    next_offset = 0
    damage = Damage(partition, directory, directory, "", recovery_point, can_truncate=False)
    for base_offset in bases:
        path = join(directory, segment_name(base_offset, LOG_SUFFIX))
        damage = Damage(partition, directory, path, "", recovery_point, base_offset, 0, next_offset)
        damage.is_first = base_offset == bases[0]
        if base_offset < next_offset and base_offset < recovery_point:
            damage.reason = f"it begins below offset {next_offset}, where the one before it ends"
            return _measured(fs, damage, bases)
        try:
            found = _scan(fs, path, base_offset)
        except UnsupportedSegmentError as error:
            return _unsupported(damage, error)
        next_offset = max(next_offset, found.next_offset)
        if found.damage is not None and max(base_offset, found.doubtful_from) < recovery_point:
            damage.position, damage.next_offset, damage.reason = found.valid_bytes, found.next_offset, found.damage
            return _measured(fs, damage, bases)
        if found.damage is not None:
            break  # a torn end
    return _missing_end(fs, damage, next_offset) if next_offset < recovery_point else None


def _base_offsets(fs: FileSystem, directory: str) -> list[int]:
    parsed = map(parse_segment_name, fs.list_directory(directory))
    return [each.base_offset for each in parsed if each is not None and each[1:] == (LOG_SUFFIX, NO_SUFFIX)]


def _scan(fs: FileSystem, path: str, base_offset: int) -> Scan:
    file = fs.open(path, OpenMode.READ)
    try:
        return scan(path, file.read_at, base_offset, file.size(), lambda _chunk: None)
    finally:
        file.close()


def _measured(fs: FileSystem, damage: Damage, bases: list[int]) -> Damage:
    paths = [join(damage.directory, segment_name(each, LOG_SUFFIX)) for each in bases if each >= damage.segment]
    damage.behind_bytes = sum(fs.stat(path).size for path in paths) - damage.position
    return damage


def _unsupported(damage: Damage, error: UnsupportedSegmentError) -> Damage:
    """Describe whole records of a format that only an older broker can read: nothing here may cut them."""
    damage.reason, damage.position, damage.can_truncate = error.reason, error.position, False
    return damage


def _missing_end(fs: FileSystem, last: Damage, next_offset: int) -> Damage:
    last.position = fs.stat(last.path).size
    last.next_offset = next_offset
    last.reason = f"the log ends at offset {next_offset}, but was durable up to {last.recovery_point}"
    return last
