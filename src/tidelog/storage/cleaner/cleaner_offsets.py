"""How far the logs of one log directory are cleaned: `cleaner-offset-checkpoint`, and what it is to say next.

An offset that is too high is worse than none. Between it and where the log was really cleaned to, old values would
pass for clean; a later cleaning would drop the tombstones there, after their time, without having dropped what they
delete, and deleted keys would be back. So:

- written only after the last swap of a cleaning, which is durable by then;
- lowered, durably, before a log is truncated or made anew (`LogDirectory.lower`, `forget`);
- not believed at the start beyond the recovery point on disk, which a truncation lowers first of all.

The file is replaced as a whole, one replacement at a time; what comes meanwhile goes into the next. Whoever hears first
of a completion, the cleaner or an operation that waits for it, takes note of it here.
"""

from collections.abc import Callable, Container, Mapping

from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull, StorageFault, TooManyOpenFiles
from tidelog.ports.files import Completion, FileSystem, Ticket
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.text import CLEANER_OFFSET_CHECKPOINT, encode_offsets, write_offsets
from tidelog.storage.directories.operations import Steps

Offsets = dict[TopicPartition, int]


class CleanerOffsets:
    __slots__ = ("_begun", "_durable", "_fs", "_offsets", "_path", "_ticket")

    def __init__(self, fs: FileSystem, directory: str) -> None:
        self._fs = fs
        self._path = join(directory, CLEANER_OFFSET_CHECKPOINT)
        self._offsets: Offsets = {}
        self._durable: Offsets = {}  # in the file
        self._begun: Offsets | None = None  # what the last replacement of the file, under way or failed, was to write
        self._ticket: Ticket | None = None

    def load(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._offsets, self._durable = dict(offsets), dict(offsets)

    def get(self, partition: TopicPartition) -> int | None:
        return self._offsets.get(partition)

    @property
    def is_writing(self) -> bool:
        return self._ticket is not None

    # Lowering offsetsing offsets

    def keep(self, is_believed: Callable[[TopicPartition, int], bool]) -> None:
        """Drop the offsets that `is_believed` rejects, durably. For the start of a broker: it waits for the disk."""
        self._offsets = {each: offset for each, offset in self._offsets.items() if is_believed(each, offset)}
        if self._offsets != self._durable:
            self._write_now()

    def lower(self, limits: Mapping[TopicPartition, int]) -> None:
        """Lower the offsets of logs that are about to end at these limits. Waits for the disk if the file may have a
        higher one."""
        self._limit(limits)
        if self._may_exceed(limits):
            self._write_now()

    def begin_lower(self, limits: Mapping[TopicPartition, int]) -> Steps:
        """Do what `lower` does, off the loop."""
        self._limit(limits)
        while self._may_exceed(limits):
            yield from self._wait(self._begin() if self._ticket is None else self._ticket)

    def _wait(self, ticket: Ticket) -> Steps:
        try:
            yield [ticket]
        except StorageFault as fault:
            self.complete(Completion(ticket, fault))
            raise
        self.complete(Completion(ticket, None))

    def _limit(self, limits: Mapping[TopicPartition, int]) -> None:
        for partition, limit in limits.items():
            if self._offsets.get(partition, 0) > limit:
                self._offsets[partition] = limit

    def _may_exceed(self, limits: Mapping[TopicPartition, int]) -> bool:
        begun = self._begun or {}
        return any(max(begun.get(each, 0), self._durable.get(each, 0)) > limit for each, limit in limits.items())

    def _write_now(self) -> None:
        assert self._ticket is None, f"{self._path} is being written"
        write_offsets(self._fs, self._path, self._offsets)
        self._durable, self._begun = dict(self._offsets), None

    # Raising offsets

    def put(self, partition: TopicPartition, offset: int, known: Container[TopicPartition]) -> None:
        """Note that the log is cleaned up to `offset`, and begin to write that down. The entries of logs that are not
        `known` any more are dropped."""
        self._offsets = {each: before for each, before in self._offsets.items() if each in known}
        self._offsets[partition] = offset
        if self._ticket is None:
            self._begin()

    def begin_put(self, partition: TopicPartition, offset: int, known: Container[TopicPartition]) -> Steps:
        """Do what `put` does, and end when the offset is written down."""
        self.put(partition, offset, known)
        while self._ticket is not None and self._durable.get(partition) != offset:
            yield from self._wait(self._ticket)

    def _begin(self) -> Ticket:
        self._begun = dict(self._offsets)
        self._ticket = self._fs.begin_replace(self._path, encode_offsets(self._begun))
        return self._ticket

    def complete(self, completion: Completion) -> StorageFault | None:
        """Take note of a completion, which may be anybody's; return the fault of ours that takes the directory offline.
        Want of room or of a descriptor passes and is not returned: the offset on disk is then an older one, which does
        no harm, and the next cleaning writes it again."""
        if completion.ticket != self._ticket:
            return None
        self._ticket = None
        if completion.fault is not None:
            return None if isinstance(completion.fault, DiskFull | TooManyOpenFiles) else completion.fault
        assert self._begun is not None
        self._durable, self._begun = self._begun, None
        if self._offsets != self._durable:
            self._begin()
        return None
