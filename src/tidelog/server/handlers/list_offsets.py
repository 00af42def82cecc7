"""ListOffsets: from a time, or a special number in its place, to an offset.

    -1 latest, as far as the reader may see      -2 earliest        -3 the record with the largest timestamp
    -4 earliest on this disk                     -5, -6 of tiered storage: nothing of this log is anywhere else

A time is answered with the first record that is not before it, found within its batch. What lies beyond what the
reader may see yet is not there for it. To find it may take a walk along a whole segment, pages that are not in the page
cache, and a batch that takes longer than a turn to look into: that is done in slices, a turn each, by the helpers that
warm pages and by the workers for heavy batches (`preparations`), and the request waits for the last of them.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import NotFound, StorageFault
from tidelog.ports.files import Ticket
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.records.header import NO_PARTITION_LEADER_EPOCH, NO_TIMESTAMP
from tidelog.server.hosting.partition import Partition
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole
from tidelog.storage.append.batch_times import HeavyLookup, TimeAnswer, TimeQuestion, look_up, remember
from tidelog.storage.errors import ColdRead, CorruptSegmentError
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    NOT_FOUND,
    FetchIsolation,
    OffsetAtTime,
    known_offset,
    search_offset,
    upper_bound,
)
from tidelog.storage.segment.time_search import Step

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.produce.preparations import Outcome

CONSUMER: Final = -1
READ_COMMITTED: Final = 1
# The version from which on each of the special timestamps is understood.
_FIRST_VERSIONS: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
_LOWEST_SPECIAL: Final = min(_FIRST_VERSIONS)
_EARLIEST: Final = (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP)
FIRST_WITH_EPOCH: Final = 4
FIRST_WITH_NOT_AVAILABLE: Final = 5
STEPS_A_SLICE: Final = 256  # a few kilobytes of headers each: about a millisecond of a turn
RESTARTS_MAX: Final = 8  # a file that is not there, again and again: it is missing, and not deleted by us
WARM_ROUNDS_MAX: Final = 8  # pages may be dropped as fast as they are warmed: after so many the search waits


class DelayedListOffsets:
    """A request some of whose answers have to be looked for, from its arrival to its answer."""

    __slots__ = ("_body", "_broker", "_context", "_response", "_searches", "_warm_rounds")

    def __init__(
        self, broker: "Broker", context: RequestContext, body: ListOffsetsRequest, response: ListOffsetsResponse
    ) -> None:
        self._broker = broker
        self._context = context
        self._body = body
        self._response = response
        self._searches: deque[OffsetSearch] = deque()
        self._warm_rounds = 0

    def add(self, search: "OffsetSearch") -> None:
        self._searches.append(search)

    @property
    def has_searches(self) -> bool:
        return bool(self._searches)

    def resume(self) -> None:
        """Go on for a while; the rest comes in the next turn, or when what it needs is in the page cache."""
        self._guarded(self._go_on)

    def _guarded(self, go_on: Callable[[], None]) -> None:
        try:
            go_on()
        except Exception as error:  # noqa: BLE001 - as in `dispatch`: a bug costs one request, not the node
            self._searches.clear()
            self._broker.dispatch.fail(self._context, self._body, error)

    def _go_on(self) -> None:
        searches, turn = self._searches, self._broker.turn
        turn.credit = 0  # what a step takes is not known: whoever comes next in this turn looks at the clock
        for _ in range(STEPS_A_SLICE):
            if not searches or self._context.connection.is_closed:
                self._context.respond(_for_version(self._response, self._context.api_version))
                return
            needed = searches[0].step(self._broker, may_wait=self._warm_rounds >= WARM_ROUNDS_MAX)
            if isinstance(needed, ColdRead):
                self._warm(needed)
                return
            if needed is not None:
                self._ask_worker(needed)
                return
            if searches[0].is_done:
                searches.popleft()
                self._warm_rounds = 0
            if searches and turn.is_over():  # a step may inflate megabytes
                break
        turn.backlog.append(self)

    def _warm(self, cold: ColdRead) -> None:
        self._warm_rounds = self._warm_rounds + 1 if cold.position == self._searches[0].cold_at else 0
        self._searches[0].cold_at = cold.position
        try:
            self._broker.when_warm(cold.begin_warm(), self)
        except StorageFault:
            self._warm_rounds = WARM_ROUNDS_MAX  # the search itself will say what is wrong
            self._broker.turn.backlog.append(self)

    def warmed(self, _ticket: Ticket) -> None:
        """Many may be warm at one moment: those that the turn has no time for wait for the next."""
        if self._broker.turn.is_over():
            self._broker.turn.backlog.append(self)
        else:
            self.resume()

    def _ask_worker(self, heavy: HeavyLookup) -> None:
        preparations, question = self._broker.preparations, heavy.job.question
        if preparations.has_workers:
            preparations.begin(heavy.job, partial(self._heard, question))
        else:
            remember(question, look_up(heavy.job))
            self._broker.turn.backlog.append(self)

    def _heard(self, question: TimeQuestion, outcome: "Outcome") -> None:
        self._guarded(partial(self._take, question, outcome))

    def _take(self, question: TimeQuestion, outcome: "Outcome") -> None:
        if isinstance(outcome, TimeAnswer):
            remember(question, outcome)  # the search asks again, and finds it
        else:
            self._searches.popleft().fail(ErrorCode.UNKNOWN_SERVER_ERROR)
        self._go_on()


class OffsetSearch:
    """The search for one partition's answer. It begins again where the log is another, or was cut, in between."""

    __slots__ = (
        "_answer",
        "_bound",
        "_generation",
        "_log",
        "_partition",
        "_restarts",
        "_search",
        "_timestamp",
        "cold_at",
        "is_done",
    )

    def __init__(self, partition: Partition, timestamp: int, bound: int, answer: ListOffsetsPartitionResponse) -> None:
        self._partition = partition
        self._timestamp = timestamp
        self._bound = bound
        self._answer = answer
        self.cold_at = -1  # where it last had to be warmed
        self.is_done = False
        self._restarts = 0
        self._begin()

    def _begin(self) -> None:
        self._log: Log = self._partition.log
        self._generation = self._log.generation
        self._search = search_offset(self._log, self._timestamp)

    def step(self, broker: "Broker", *, may_wait: bool) -> Step:
        """One step; what has to be warmed, or looked up by a worker, before the next."""
        answer = self._answer
        found = broker.leader_of(self._partition.topic_partition)
        if found is not self._partition:
            self.fail(found if isinstance(found, ErrorCode) else ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return None
        if self._log is not found.log or self._generation != self._log.generation:
            self._begin()
        descriptors = self._log.descriptors
        descriptors.may_wait = may_wait
        try:
            return next(self._search)
        except StopIteration as stop:
            at: OffsetAtTime = stop.value
            if at.offset < self._bound:
                answer.timestamp, answer.offset, answer.leader_epoch = at.timestamp, at.offset, at.leader_epoch
            self.is_done = True
        except NotFound as fault:
            self._not_there(broker, fault)
        except StorageFault as fault:
            broker.storage_fault(fault)
            self.fail(ErrorCode.KAFKA_STORAGE_ERROR)
        except CorruptSegmentError as damage:
            broker.events.log_damaged(self._partition.topic_partition, self._log.log_start_offset, damage)
            self.fail(ErrorCode.CORRUPT_MESSAGE)
        finally:
            descriptors.may_wait = True
        return None

    def _not_there(self, broker: "Broker", fault: NotFound) -> None:
        """A segment that was old, and is gone by now; or one whose file somebody else has removed."""
        if self._restarts < RESTARTS_MAX:
            self._restarts += 1
            self._begin()
            return
        damage = CorruptSegmentError(fault.path, 0, f"the file is missing ({fault.detail})")
        broker.events.log_damaged(self._partition.topic_partition, self._log.log_start_offset, damage)
        self.fail(ErrorCode.KAFKA_STORAGE_ERROR)

    def fail(self, code: ErrorCode) -> None:
        self._answer.error_code = code
        self.is_done = True


def steps(broker: "Broker", context: RequestContext, body: ListOffsetsRequest) -> Steps[ListOffsetsResponse | None]:
    named: dict[tuple[str, int], int] = {}
    for topic in body.topics:
        for asked in topic.partitions:
            named[topic.name, asked.partition_index] = named.get((topic.name, asked.partition_index), 0) + 1
            yield
        yield
    response = ListOffsetsResponse(topics=[])
    delayed = DelayedListOffsets(broker, context, body, response)
    for topic in body.topics:
        answered = ListOffsetsTopicResponse(name=topic.name, partitions=[])
        response.topics.append(answered)
        yield
        for asked in topic.partitions:
            is_repeated = named[topic.name, asked.partition_index] > 1
            answered.partitions.append(_answer(broker, context, body, topic.name, asked, is_repeated, delayed))
            yield
    if not delayed.has_searches:
        return _for_version(response, context.api_version)
    delayed.resume()
    return None


def _answer(
    broker: "Broker",
    context: RequestContext,
    body: ListOffsetsRequest,
    topic: str,
    asked: ListOffsetsPartition,
    is_repeated: bool,
    delayed: DelayedListOffsets,
) -> ListOffsetsPartitionResponse:
    """What is known at once; the rest is added to `delayed`."""
    index = asked.partition_index
    if is_repeated:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=ErrorCode.INVALID_REQUEST)
    if context.api_version < _first_version(asked.timestamp):
        return ListOffsetsPartitionResponse(partition_index=index, error_code=ErrorCode.UNSUPPORTED_VERSION)
    found = broker.leader_of(TopicPartition(topic, index))
    if isinstance(found, ErrorCode):
        return ListOffsetsPartitionResponse(partition_index=index, error_code=found)
    code = found.check_epoch(asked.current_leader_epoch)
    if code is not ErrorCode.NONE:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
    is_behind = found.log.high_watermark < _epoch_start(found)
    if is_behind and body.replica_id == CONSUMER and asked.timestamp not in _EARLIEST:
        has_own_code = context.api_version >= FIRST_WITH_NOT_AVAILABLE
        code = ErrorCode.OFFSET_NOT_AVAILABLE if has_own_code else ErrorCode.LEADER_NOT_AVAILABLE
        return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
    bound = upper_bound(found.log, _isolation(body))
    at = _known(found, asked.timestamp, bound)
    answer = ListOffsetsPartitionResponse(
        partition_index=index,
        error_code=ErrorCode.NONE,
        timestamp=at.timestamp,
        offset=at.offset,
        leader_epoch=at.leader_epoch,
    )
    if at is NOT_FOUND and known_offset(found.log, asked.timestamp) is None:
        delayed.add(OffsetSearch(found, asked.timestamp, bound, answer))
    return answer


def _for_version(response: ListOffsetsResponse, version: int) -> ListOffsetsResponse:
    if version < FIRST_WITH_EPOCH:
        for topic in response.topics:
            for each in topic.partitions:
                each.leader_epoch = NO_PARTITION_LEADER_EPOCH
    return response


def _first_version(timestamp: int) -> int:
    if timestamp < _LOWEST_SPECIAL:
        return 0x7FFF  # no version knows it
    return _FIRST_VERSIONS.get(timestamp, 0)


def _isolation(body: ListOffsetsRequest) -> FetchIsolation:
    if body.replica_id != CONSUMER:
        return FetchIsolation.LOG_END
    is_committed = body.isolation_level == READ_COMMITTED
    return FetchIsolation.TXN_COMMITTED if is_committed else FetchIsolation.HIGH_WATERMARK


def _epoch_start(partition: Partition) -> int:
    """A new leader does not know at once how far its predecessor's high watermark had come. Until its own has passed
    the start of its epoch, an answer might lie below what a client was told before."""
    entry = partition.log.epochs.entry(partition.leader_epoch)
    return 0 if entry is None else entry.start_offset


def _known(partition: Partition, timestamp: int, bound: int) -> OffsetAtTime:
    """The answer where nothing has to be looked for; NOT_FOUND until it is."""
    if timestamp == LATEST_TIMESTAMP:
        return OffsetAtTime(NO_TIMESTAMP, bound, partition.leader_epoch)
    return known_offset(partition.log, timestamp) or NOT_FOUND


def refuse(body: ListOffsetsRequest, code: ErrorCode, _message: str | None) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


LIST_OFFSETS = Handler(ApiKey.LIST_OFFSETS, whole(steps), refuse, steps=steps)
