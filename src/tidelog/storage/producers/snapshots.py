"""The snapshot files of one partition's directory: which there are, which are of use, when a new one is due.

A snapshot saves scanning the log from its beginning. It can always be made again from the log, so a damaged one is no
catastrophe: it is deleted and an older one, or the log, takes its place.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Final

from tidelog.ports.durable import replace_durably
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.errors import CorruptSnapshotError
from tidelog.storage.checkpoints.small_files import read_whole, remove_if_present
from tidelog.storage.directories.operations import GIVE_WAY, Steps
from tidelog.storage.names import DELETED_SUFFIX, NO_SUFFIX, SNAPSHOT_SUFFIX, parse_segment_name, segment_name
from tidelog.storage.producers.entry import ProducerEntry
from tidelog.storage.producers.snapshot import check_snapshot, decode_entries, encode_snapshot
from tidelog.storage.producers.state import ProducerState

ENTRIES_A_PIECE: Final = 10_000


class ProducerSnapshots:
    """The snapshots of one log. `offsets` are those known to be there, ascending. `directory` may be set anew when the
    log has moved."""

    __slots__ = ("_fs", "directory", "offsets")

    def __init__(self, fs: FileSystem, directory: str, names: Sequence[str] | None = None) -> None:
        """`names` is the directory's listing, when the caller has it already."""
        self._fs = fs
        self.directory = directory
        self.offsets: list[int] = []
        self.rescan(names)

    def rescan(self, names: Sequence[str] | None = None) -> None:
        listed = self._fs.list_directory(self.directory) if names is None else names
        self.offsets = sorted(offset for offset in map(_snapshot_offset, listed) if offset is not None)

    @property
    def latest(self) -> int | None:
        return self.offsets[-1] if self.offsets else None

    @property
    def oldest(self) -> int | None:
        return self.offsets[0] if self.offsets else None

    def path(self, offset: int) -> str:
        return join(self.directory, segment_name(offset, SNAPSHOT_SUFFIX))

    def read(self, offset: int) -> bytes:
        return read_whole(self._fs, self.path(offset))

    def write(self, offset: int, contents: bytes) -> None:
        """Write a snapshot; durable when this returns. Off the loop: `fs.begin_replace(path(offset), contents)`, then
        `add(offset)`."""
        replace_durably(self._fs, self.path(offset), contents)
        self.add(offset)

    def add(self, offset: int) -> None:
        if offset not in self.offsets:
            insort(self.offsets, offset)

    def remove(self, offset: int) -> None:
        """Delete the file, which may be gone already."""
        self.offsets = [each for each in self.offsets if each != offset]
        remove_if_present(self._fs, self.path(offset))

    def remove_before(self, offset: int) -> None:
        for each in self.offsets[: bisect_left(self.offsets, offset)]:
            self.remove(each)

    def remove_out_of_range(self, log_start_offset: int, log_end_offset: int) -> None:
        """Remove the snapshots beyond the end of the log, which speak of records that are gone, and those at or below
        its start, which speak of no record that is left."""
        for each in list(self.offsets):
            if each > log_end_offset or each <= log_start_offset:
                self.remove(each)

    def remove_strays(self, segment_base_offsets: Sequence[int]) -> None:
        """Remove the snapshots that belong to no segment, but for one behind the last segment: it was taken at a clean
        stop."""
        known = dict.fromkeys(segment_base_offsets)
        strays = [offset for offset in self.offsets if offset not in known]
        if strays and (not segment_base_offsets or strays[-1] >= max(segment_base_offsets)):
            strays.pop()
        for offset in strays:
            self.remove(offset)

    def mark_deleted(self, offset: int) -> str | None:
        """Rename the snapshot as its segment is; return the path to delete after the delay, None when there is no such
        snapshot."""
        if offset not in self.offsets:
            return None
        self.offsets.remove(offset)
        self._fs.rename(self.path(offset), self.path(offset) + DELETED_SUFFIX)
        return self.path(offset) + DELETED_SUFFIX


def take_snapshot(state: ProducerState, snapshots: ProducerSnapshots) -> int | None:
    """Write a snapshot at the end of the state, unless the last one is as recent; return its offset when it was
    written."""
    offset = state.map_end_offset
    if offset <= state.snapshot_offset:
        return None
    snapshots.write(offset, encode_snapshot(state.producers.values()))
    state.snapshot_offset = offset
    return offset


def reload(
    state: ProducerState,
    snapshots: ProducerSnapshots,
    log_start_offset: int,
    log_end_offset: int,
    now_ms: int,
    damaged: list[CorruptSnapshotError],
) -> Steps:
    """Go back to the latest snapshot in this range of the log, unless the state is of its end already. Replaying the
    log from `state.map_end_offset` on is left to the caller. A damaged snapshot is deleted, and noted in `damaged`."""
    snapshots.remove_out_of_range(log_start_offset, log_end_offset)
    if state.map_end_offset == log_end_offset:
        state.advance_log_start(log_start_offset, snapshots.latest)
        return
    while (offset := snapshots.latest) is not None:
        try:
            contents = snapshots.read(offset)
            count = check_snapshot(contents, snapshots.path(offset))
        except CorruptSnapshotError as error:
            damaged.append(error)
            snapshots.remove(offset)
        else:
            entries: list[ProducerEntry] = []
            for first in range(0, count, ENTRIES_A_PIECE):
                entries += decode_entries(contents, first, min(count, first + ENTRIES_A_PIECE))
                yield GIVE_WAY
            state.reset(offset, (entry for entry in entries if not state.is_expired(entry, now_ms)))
            return
    state.reset(log_start_offset)


def truncate_fully(state: ProducerState, snapshots: ProducerSnapshots, offset: int) -> None:
    """Forget all producers and snapshots: the log is empty and starts at `offset`."""
    for each in list(snapshots.offsets):
        snapshots.remove(each)
    state.reset(offset)
    state.snapshot_offset = 0


def _snapshot_offset(name: str) -> int | None:
    parsed = parse_segment_name(name)
    if parsed is None or parsed.kind != SNAPSHOT_SUFFIX or parsed.state != NO_SUFFIX:
        return None
    return parsed.base_offset
