"""How the descriptors that the system allows this process (`ulimit -n`) are shared out.

    reserve       standard streams, poller, listeners, locks, workers, and what is open for a moment: a directory or
                  checkpoint that is synced, a snapshot that is written, a module that is imported
    connections   one each; half of the rest, and all that the files leave
    open files    segments and indexes that are kept open because they are in use (`storage.descriptors`)
    pinned files  those that responses or syncs under way hold on to, whatever is closed meanwhile; syncs have a part of
                  it to themselves, since a client that does not read holds on for as long as it likes

Each has a limit of its own, so that none can starve another: a crowd of clients does not keep a log from rolling, and
a thousand partitions do not keep a client from connecting.
"""

from typing import Final

from tidelog.model.lazy_dataclass import dataclass

RESERVED: Final = 40
RESERVED_A_DIRECTORY: Final = 4  # its lock, its helper threads
RESERVED_A_WORKER: Final = 4  # a housekeeping process: its socket, and pipes while it starts
SHARED_MIN: Final = 32  # below which nothing works for long
FILES_MAX: Final = 4_096
UNLIMITED: Final = 1 << 20
WAY_OUT: Final = (
    "raise the limit of the process (ulimit -n, LimitNOFILE= of a service) or of the machine (fs.file-max), or end "
    "what holds so many; it is tried again by itself"
)


class TooFewDescriptors(Exception):
    """The process may open so few files that it could not serve anybody."""

    def __init__(self, limit: int, needed: int) -> None:
        super().__init__(
            f"only {limit} open files are allowed (ulimit -n), and at least {needed} are needed; raise the limit, to "
            "100,000 for a broker in production"
        )


@dataclass(slots=True)
class DescriptorBudget:
    limit: int
    reserved: int
    connections: int
    open_files: int
    pinned_files: int


def share_out(limit: int, *, directories: int, workers: int, others: int) -> DescriptorBudget:
    """`others`: listeners, and connections that have a limit of their own. TooFewDescriptors."""
    reserved = RESERVED + RESERVED_A_DIRECTORY * directories + RESERVED_A_WORKER * workers + others
    shared = limit - reserved
    if shared < SHARED_MIN:
        raise TooFewDescriptors(limit, reserved + SHARED_MIN)
    pinned_files = min(shared // 6, FILES_MAX)
    open_files = min(shared // 3, FILES_MAX)
    return DescriptorBudget(limit, reserved, shared - open_files - pinned_files, open_files, pinned_files)
