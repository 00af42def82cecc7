"""A whole data directory, checked offline and read-only: every promise that its files make to each other.

    for item in verify_directory(fs, "/var/lib/kafka"):
        ...  a Finding, a LogSummary for each log that was read, or Progress

It takes a log directory, or the directory of a single partition (of which it then believes that the broker stopped
cleanly). Where a broker is running it refuses: files that change under the reader look damaged, and a verdict that can
not be trusted is worse than none. (`dump` shows what is there, and only says so.)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tidelog.ports.errors import StorageFault
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join, name_of, parent_of
from tidelog.storage.errors import InvalidNameError
from tidelog.storage.inspect.directory_facts import LOCK, DirectoryFacts, read_directory
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.log_check import Item, LogCheck, LogFacts, LogSummary, Passed
from tidelog.storage.names import LOG_SUFFIX, parse_partition_directory

PROGRESS_BYTES: Final = 4 << 20


@dataclass(slots=True)
class VerifyOptions:
    check_records: bool = False  # look into every record, not only at the checksums of batches
    compacted_topics: tuple[str, ...] = ()  # of which nothing here says that they are compacted


@dataclass(slots=True)
class Progress:
    path: str  # the log that is being read
    done_bytes: int
    total_bytes: int


def verify_directory(
    fs: FileSystem, directory: str, options: VerifyOptions
) -> Iterator[Finding | LogSummary | Progress]:
    running = running_broker(fs, directory)
    if running is not None:
        yield running
        return
    try:
        facts = _facts(fs, directory, options)
    except StorageFault as fault:
        yield Finding(fault.path, fault.detail)
        return
    yield from facts.findings
    sizes = [_size_bytes(fs, log.path) for log in facts.logs]
    done, total = 0, sum(sizes)
    for log, size in zip(facts.logs, sizes, strict=True):
        yield Progress(log.path, done, total)
        yield from _with_progress(_verify_log(fs, log, options), Progress(log.path, done, total))
        done += size  # all of it, even where some could not be read
        yield Progress(log.path, done, total)


def running_broker(fs: FileSystem, directory: str) -> Finding | None:
    """Return a finding where a broker holds the lock of the directory, or of the log directory that this partition is
    in."""
    for path in (join(directory, LOCK), join(parent_of(directory), LOCK)):
        try:
            owner = fs.lock_owner(path)
        except StorageFault:
            continue  # there is no directory above, or it can not be read: then nothing is known
        if owner is not None:
            return Finding(path, f"held by {owner}: a broker is running here, and changes the files meanwhile")
    return None


def _with_progress(items: Iterator[Item], progress: Progress) -> Iterator[Finding | LogSummary | Progress]:
    """Turn the bytes that were read into Progress, but not after every small batch."""
    unsaid = 0
    for item in items:
        if not isinstance(item, Passed):
            yield item
            continue
        unsaid += item.count
        if unsaid >= PROGRESS_BYTES:
            progress = Progress(progress.path, progress.done_bytes + unsaid, progress.total_bytes)
            unsaid = 0
            yield progress


def _facts(fs: FileSystem, directory: str, options: VerifyOptions) -> DirectoryFacts:
    if not _is_partition(fs, directory):
        return read_directory(fs, directory, options.compacted_topics)
    topic = parse_partition_directory(name_of(directory)).topic_partition.topic
    return DirectoryFacts([LogFacts(directory, is_compacted=topic in options.compacted_topics)])


def _is_partition(fs: FileSystem, directory: str) -> bool:
    try:
        parse_partition_directory(name_of(directory))
    except InvalidNameError:
        return False
    return any(name.endswith(LOG_SUFFIX) for name in fs.list_directory(directory))


def _size_bytes(fs: FileSystem, directory: str) -> int:
    try:
        names = [name for name in fs.list_directory(directory) if name.endswith(LOG_SUFFIX)]
        return sum(fs.stat(join(directory, name)).size for name in names)
    except StorageFault:
        return 0  # the check itself will meet the same fault, and report it


def _verify_log(fs: FileSystem, log: LogFacts, options: VerifyOptions) -> Iterator[Item]:
    """Check one log. A fault of the disk ends the check of this log; the others go on."""
    try:
        yield from LogCheck(fs, log, check_records=options.check_records).run()
    except StorageFault as fault:
        yield Finding(fault.path, fault.detail)
