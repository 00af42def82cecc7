"""Which voters and which `kraft.version` hold, by the control records of the log.

They take effect when they are appended, not when they are committed: a leader must count the set that it is asking to
be accepted. So the whole log is read, beyond the high watermark, and a truncation takes records back. What a snapshot
says counts from the last offset that it contains; the one that `format` writes contains none, so that is -1.
"""

from typing import Any, NamedTuple

from tidelog.protocol.control_records import KRaftVersionRecord, VotersRecord
from tidelog.raft.voters import VoterSet, from_record

KRAFT_VERSION_STATIC = 0


class _VotersAt(NamedTuple):
    offset: int
    voters: VoterSet


class _VersionAt(NamedTuple):
    offset: int
    kraft_version: int


class VoterHistory:
    __slots__ = ("_static", "_versions", "_voters")

    def __init__(self, static: VoterSet) -> None:
        """`static` are the voters of the configuration, which hold until the log has others."""
        self._static = static
        self._voters: list[_VotersAt] = []
        self._versions: list[_VersionAt] = []

    def observe(self, offset: int, message: Any) -> None:
        """Take over a control record of the log; those about other things are passed over."""
        match message:
            case VotersRecord():
                self._voters.append(_VotersAt(offset, from_record(message)))
            case KRaftVersionRecord():
                self._versions.append(_VersionAt(offset, message.kraft_version))

    def truncate_to(self, end_offset: int) -> None:
        self._voters = [each for each in self._voters if each.offset < end_offset]
        self._versions = [each for each in self._versions if each.offset < end_offset]

    @property
    def voters(self) -> VoterSet:
        return self._voters[-1].voters if self._voters else self._static

    @property
    def voters_offset(self) -> int | None:
        """The offset at which the log says who votes; None where it does not."""
        return self._voters[-1].offset if self._voters else None

    @property
    def kraft_version(self) -> int:
        return self._versions[-1].kraft_version if self._versions else KRAFT_VERSION_STATIC

    def voters_at(self, end_offset: int) -> VoterSet | None:
        """Return the voters that the log up to `end_offset` has: what a snapshot there has to say. None with static
        voters."""
        return next((each.voters for each in reversed(self._voters) if each.offset < end_offset), None)

    def kraft_version_at(self, end_offset: int) -> int:
        found = (each.kraft_version for each in reversed(self._versions) if each.offset < end_offset)
        return next(found, KRAFT_VERSION_STATIC)
