"""Logs that are not there yet, and how they come to be: one at once, or many off the loop.

    wanted -> its name is free -> a helper makes the directory and its first files -> the log is taken in

A directory and two files are six system calls, and each may wait for the journal of the file system: for ten thousand
logs that is seconds. So a few dozen are under way at a time, whoever asked for them, in the order in which they were
asked for; the loop only takes in what is there. A name that was in use is free when a power loss can not bring the old
log back any more. What a helper has begun for a name (`LogDirectory.being_made`) is waited for, or two would be at work
in one directory.
"""

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from tidelog.config.topic_config import TopicConfig
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.errors import AlreadyExists, StorageFault
from tidelog.ports.files import Ticket
from tidelog.ports.paths import join, parent_of
from tidelog.storage.directories.disk_room import COORDINATOR_TOPICS
from tidelog.storage.directories.half_made import remove_half_made
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.moves import LogMoves
from tidelog.storage.directories.operations import GIVE_WAY, Operation, Steps
from tidelog.storage.log.loader import LogContext, create_log, first_files, give_topic_id, new_log
from tidelog.storage.log.log import Log
from tidelog.storage.names import partition_directory

# What a new log takes at least: a block of a usual size. Whether there is room for more shows when the log is made.
NEW_LOG_BYTES: Final = 4_096
# Enough for the helpers to have something to do until the loop comes by, and no more than a turn can take in.
UNDER_WAY_MAX: Final = 32

Outcome = Log | ErrorCode
Making = Generator[Sequence[Ticket] | Operation, None, Outcome]


@dataclass(slots=True)
class Creation:
    """A number of logs that are being made. `outcomes` fills up until the operation is done."""

    outcomes: dict[TopicPartition, Outcome] = field(default_factory=dict)
    operation: Operation | None = None
    queue: dict[TopicPartition, Uuid] = field(default_factory=dict)  # not begun yet; may be cleared

    @property
    def is_done(self) -> bool:
        return self.operation is not None and self.operation.is_done

    def extend(self, wanted: Mapping[TopicPartition, Uuid]) -> None:
        """Make these logs as well, behind the others."""
        assert not self.is_done
        self.queue.update(wanted)


@dataclass(slots=True)
class CreationHooks:
    """The functions by which a creation acts on the logs around it."""

    begin: Callable[[str | None, Steps], Operation]
    find: Callable[[TopicPartition], Outcome]
    home_of: Callable[[TopicPartition], LogDirectory | None]  # where a new log goes
    report: Callable[[str, StorageFault], None]  # a fault under the log directory with this path
    shortages: list[str]  # what could not be done for want of room or descriptors, in words


class LogCreations:
    def __init__(
        self,
        context: LogContext,
        directories: Mapping[str, LogDirectory],
        config_of: Callable[[str], TopicConfig],
        moves: LogMoves,
        hooks: CreationHooks,
    ) -> None:
        self._context = context
        self._directories = directories
        self._config_of = config_of
        self._moves = moves
        self._hooks = hooks
        self._under_way: dict[Ticket, None] = {}  # the oldest first

    # One, at once

    def create(self, partition: TopicPartition, topic_id: Uuid, now_ms: int) -> Outcome:
        """See `Logs.create`."""
        known = self._known(partition, topic_id)
        if known is not None:
            return known
        directory = self._hooks.home_of(partition)
        is_in_use = self._leaving(partition) is not None or self._ticket_of(partition) is not None
        if directory is None or is_in_use or not directory.is_free(partition):
            return ErrorCode.KAFKA_STORAGE_ERROR
        return self._create_in(directory, partition, topic_id, now_ms)

    def _known(self, partition: TopicPartition, topic_id: Uuid) -> Outcome | None:
        """Return the log that is there, or why there can be none; None where it has to be made."""
        found = self._hooks.find(partition)
        if isinstance(found, Log) and found.topic_id is None:
            return self._with_topic_id(found, topic_id)
        if isinstance(found, Log) and found.topic_id != topic_id:
            return ErrorCode.INCONSISTENT_TOPIC_ID  # an earlier topic of that name: it has to be deleted first
        return None if found == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else found

    def _with_topic_id(self, log: Log, topic_id: Uuid) -> Outcome:
        try:
            give_topic_id(log, topic_id)
        except StorageFault as fault:
            self._hooks.report(parent_of(log.directory), fault)
            return ErrorCode.KAFKA_STORAGE_ERROR
        return log

    def _create_in(self, directory: LogDirectory, partition: TopicPartition, topic_id: Uuid, now_ms: int) -> Outcome:
        path = join(directory.path, partition_directory(*partition))
        try:
            if not self._has_room(directory, partition, now_ms):
                return ErrorCode.KAFKA_STORAGE_ERROR
            log = create_log(self._context, path, partition, topic_id, self._config_of(partition.topic), now_ms)
        except AlreadyExists as error:
            self._hooks.shortages.append(
                str(error)
            )  # say, a deleted log that could not be renamed and is being removed
            return ErrorCode.KAFKA_STORAGE_ERROR
        except StorageFault as fault:
            self._hooks.report(directory.path, fault)
            return ErrorCode.KAFKA_STORAGE_ERROR
        directory.logs[partition] = log
        return log

    def _has_room(self, directory: LogDirectory, partition: TopicPartition, now_ms: int) -> bool:
        uses_reserve = partition.topic in COORDINATOR_TOPICS
        return directory.room.has_room_for(NEW_LOG_BYTES, now_ms, uses_reserve=uses_reserve)

    # Many, off the loop

    def begin_create(self, wanted: Mapping[TopicPartition, Uuid], now_ms: int) -> Creation:
        """See `Logs.begin_create`."""
        creation = Creation(queue=dict(wanted))
        creation.operation = self._hooks.begin(None, self._creation(creation, now_ms))
        return creation

    def _creation(self, creation: Creation, now_ms: int) -> Steps:
        begun: deque[Operation] = deque()
        while creation.queue or begun:
            while begun and begun[0].is_done:
                begun.popleft()
            if creation.queue:
                partition = next(iter(creation.queue))
                yield from self._wait_for_name(partition)
                while len(self._under_way) >= UNDER_WAY_MAX:
                    yield from self._wait_for(next(iter(self._under_way)))
                topic_id = creation.queue.pop(partition, None)
                if topic_id is not None:  # it is wanted still
                    begun.append(self._hooks.begin(None, self._making(creation, partition, topic_id, now_ms)))
                yield GIVE_WAY
            elif begun:
                yield begun.popleft()

    def _making(self, creation: Creation, partition: TopicPartition, topic_id: Uuid, now_ms: int) -> Steps:
        creation.outcomes[partition] = yield from self._make(partition, topic_id, now_ms)

    def _make(self, partition: TopicPartition, topic_id: Uuid, now_ms: int) -> Making:
        directory = yield from self._home_with_free_name(partition)
        known = self._known(partition, topic_id)
        if known is not None:
            return known
        if directory is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        path = join(directory.path, partition_directory(*partition))
        try:
            if not self._has_room(directory, partition, now_ms):
                return ErrorCode.KAFKA_STORAGE_ERROR
            yield from self._make_directory(directory, partition, path, topic_id)
            if self._moves.preferred(partition) not in (None, directory):  # asked for meanwhile
                remove_half_made(self._context.descriptors, path)
                return (yield from self._make(partition, topic_id, now_ms))
        except AlreadyExists:  # a left-over, as a rule
            return self._create_in(directory, partition, topic_id, now_ms)
        except StorageFault as fault:
            self._hooks.report(directory.path, fault)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if not directory.is_online:
            return ErrorCode.KAFKA_STORAGE_ERROR
        # The settings as they are now: a change is told to the logs that are there, and to no other.
        log = new_log(self._context, path, partition, topic_id, self._config_of(partition.topic), now_ms)
        directory.logs[partition] = log
        return log

    def _make_directory(self, directory: LogDirectory, partition: TopicPartition, path: str, topic_id: Uuid) -> Steps:
        ticket = self._context.fs.begin_make_directory(path, first_files(topic_id))
        directory.being_made[partition] = ticket
        self._under_way[ticket] = None
        try:
            yield [ticket]
        finally:
            del directory.being_made[partition], self._under_way[ticket]

    def _home_with_free_name(
        self, partition: TopicPartition
    ) -> Generator[Sequence[Ticket] | Operation, None, LogDirectory | None]:
        """Wait until the log can be made, and return the directory for it; None where there is none. Nothing else has
        happened between the last check and the return."""
        is_forgotten = False
        while True:
            yield from self._wait_for_name(partition)
            directory = self._hooks.home_of(partition)
            is_new = self._hooks.find(partition) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION  # and not set aside
            if directory is None or not is_new or directory.is_free(partition):
                return directory
            if is_forgotten:
                return None
            # A log of the same name was here: in an earlier life of this broker, or before it was moved.
            yield self._hooks.begin(directory.path, directory.forget([partition]))
            is_forgotten = True

    # Waiting

    def _wait_for_name(self, partition: TopicPartition) -> Steps:
        """Wait until no deleted log can come back under this name, and no helper makes a log of this name."""
        while True:
            leaving, ticket = self._leaving(partition), self._ticket_of(partition)
            if leaving is not None:
                yield leaving
            elif ticket is not None:
                yield from self._wait_for(ticket)
            else:
                return

    def _wait_for(self, ticket: Ticket) -> Steps:
        with suppress(StorageFault):  # whoever has begun it handles the fault
            yield [ticket]

    def _leaving(self, partition: TopicPartition) -> Operation | None:
        found = [each.leaving[partition] for each in self._directories.values() if partition in each.leaving]
        return found[0] if found else None

    def _ticket_of(self, partition: TopicPartition) -> Ticket | None:
        found = [each.being_made[partition] for each in self._directories.values() if partition in each.being_made]
        return found[0] if found else None
