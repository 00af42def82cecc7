"""Segments that retention or a swap took out of a log: renamed to `.deleted`, and removed after `file.delete.delay.ms`.

A reader that asked for such a segment just before may still open it, hence the delay.
"""

from typing import TYPE_CHECKING, NamedTuple

from tidelog.storage.checkpoints.small_files import remove_if_present
from tidelog.storage.segment.segment import Segment

if TYPE_CHECKING:
    from tidelog.storage.log.log import Log


class DeletedSegment(NamedTuple):
    """A segment under its `.deleted` name, and the producer snapshot that goes with it."""

    due_ms: int
    segment: Segment
    snapshot_path: str | None


def delete_expired(log: "Log", now_ms: int, *, is_urgent: bool = False) -> bool:
    """Remove the files of one deleted segment whose delay is over, or of any where that is urgent; return whether there
    was one. A segment whose delay has not even begun was taken away before the clock was set back: its delay is over
    as well. One whose files could not be removed, for want of a descriptor say, stays listed: the next look tries
    again."""
    delay_ms = log.config.file_delete_delay_ms
    for index, each in enumerate(log.deleted):
        if is_urgent or not each.due_ms - delay_ms <= now_ms < each.due_ms:
            each.segment.delete()
            if each.snapshot_path is not None:
                remove_if_present(log.fs, each.snapshot_path)
            del log.deleted[index]
            return True
    return False
