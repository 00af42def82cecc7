"""One fetch under way, from its arrival to its answer.

    open: the session, brought up to date -> count bytes -> enough: read, answer
                                                         -> not enough: wait until a partition moves, or time is up

Nothing is copied: the response carries ranges of segment files. A request that waits holds none of them. It has counted
what each of its partitions could answer with; a partition that moves is counted anew, that one alone, and the records
are looked at when the sum is enough.

Every part is a generator that yields at each partition, since a session may have ten thousand of them (ADR 15). A fetch
of few is run without a pause. While one of many is under way over several turns, it is its session's `parked`: another
request of the session waits for it, and so sees no half of an update. What moves meanwhile is noted (`moved`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Ticket
from tidelog.protocol.messages.fetch import FetchRequest, FetchResponse
from tidelog.server.fetch.answer import FetchAnswer
from tidelog.server.fetch.partition_read import UNKNOWN_PARTITION, Fetched, count_bytes, fetch_partition, refused
from tidelog.server.fetch.session import NO_SESSION, FetchEntry, FetchSession
from tidelog.server.fetch.sessions import FINAL_EPOCH, INITIAL_EPOCH
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.handler import RequestContext, Steps, run_whole
from tidelog.storage.errors import ColdRead
from tidelog.storage.log.reading import PLENTY, FetchIsolation

if TYPE_CHECKING:
    from tidelog.server.fetch.repeated_fetch import RepeatedFetch
    from tidelog.server.node.broker import Broker

T = TypeVar("T")

FIRST_BY_ID: Final = 13
MAX_SESSION_ID: Final = 0x7FFF_FFFF
# Pages may be dropped again as fast as they are warmed: after so many rounds the reader waits for the disk.
WARM_ROUNDS_MAX: Final = 8


class DelayedFetch:
    """One fetch under way, in the purgatory while it waits."""

    __slots__ = (
        "broker",
        "context",
        "counted_bytes",
        "deadline_ms",
        "has_records",
        "is_cold",
        "is_done",
        "is_incremental",
        "is_under_way",
        "isolation",
        "kept_bytes",
        "moved_meanwhile",
        "request",
        "session",
        "wanted_bytes",
        "warm_rounds",
        "warming",
    )

    def __init__(
        self, broker: "Broker", context: RequestContext, request: FetchRequest, isolation: FetchIsolation
    ) -> None:
        self.broker = broker
        self.context = context
        self.request = request
        self.isolation = isolation
        self.session = _NOTHING
        self.is_incremental = request.session_epoch not in (FINAL_EPOCH, INITIAL_EPOCH)
        self.deadline_ms = broker.turn.monotonic_ms + request.max_wait_ms
        self.is_done = False
        self.is_under_way = False  # being opened, counted, read or answered, maybe over several turns
        self.moved_meanwhile: dict[FetchEntry, None] = {}
        self.has_records = False  # and has been answered with them
        self.counted_bytes = 0
        self.wanted_bytes = min(request.min_bytes, request.max_bytes, broker.limits.fetch_bytes_max)
        self.kept_bytes = 0  # what it counts against its connection while it waits
        self.is_cold = False  # the last reading found something that has to be warmed
        self.warming = 0  # ranges that a helper is bringing into the page cache
        self.warm_rounds = 0

    def open(self) -> Steps[ErrorCode]:
        """Find or make the session, and apply the request's changes to it."""
        return self._guarded(self._incremental() if self.is_incremental else self._full())

    def go_on(self) -> Steps[FetchResponse | None]:
        """Answer, where there is enough; None where the request waits, or where its connection has ended."""
        return self._guarded(self._count_and_answer())

    def _guarded(self, steps: Steps[T]) -> Steps[T]:
        """Run the steps. A bug, or the end of the node, must not leave the session to a fetch that never ends."""
        self.is_under_way = True
        try:
            return (yield from steps)
        except BaseException:
            self._end()
            raise
        finally:
            self.is_under_way = False

    def _end(self) -> None:
        """End the fetch, and let go of what may be large: the purgatory keeps this object for a long time yet."""
        self.is_done = True
        session = self.session
        self.session, self.request = _NOTHING, _NO_REQUEST
        if session.parked is self:
            session.parked = None
        if session.repeated is None and not self.broker.fetch_sessions.is_kept(session):
            session.release()
        connection = self.context.connection
        connection.parked.pop(self, None)
        if self.kept_bytes:
            kept_bytes, self.kept_bytes = self.kept_bytes, 0
            connection.give_back(kept_bytes)

    # The session

    def adopt(self, session: FetchSession) -> None:
        """Make this the request of the session that is under way."""
        session.parked = self
        self.session = session

    def _full(self) -> Steps[ErrorCode]:
        """Make a session of the partitions that the request names; keep it if asked to, if there is room and any
        exists."""
        broker, request = self.broker, self.request
        sessions = broker.fetch_sessions
        if request.session_id != NO_SESSION:
            sessions.close(request.session_id)
        session = FetchSession(NO_SESSION, self.context.api_version >= FIRST_BY_ID, broker.turn.monotonic_ms)
        self.adopt(session)
        yield from session.update(request, broker.topic_name)
        if request.session_epoch == INITIAL_EPOCH and (yield from self._has_known()):
            new_id = 1 + broker.entropy.random_below(MAX_SESSION_ID)
            sessions.admit(session, new_id, broker.turn.monotonic_ms)
        sessions.used_by(session, self.context.connection)
        return ErrorCode.NONE

    def _has_known(self) -> Steps[bool]:
        broker = self.broker
        for entry in self.session.partitions.values():
            if entry.topic_partition.topic and broker.has_partition(entry.topic_partition):
                return True
            yield
        return False

    def _incremental(self) -> Steps[ErrorCode]:
        """Find the session of the request, wait for an earlier request of it, and apply the changes."""
        broker, request = self.broker, self.request
        sessions, by_id = broker.fetch_sessions, self.context.api_version >= FIRST_BY_ID
        session = sessions.use(request.session_id, request.session_epoch, by_id, broker.turn.monotonic_ms)
        if isinstance(session, ErrorCode):
            return self._without_session(session)
        while (earlier := session.parked) is not None:
            earlier.hurry()
            if session.parked is not None:
                yield  # it is under way in slices, too
        if not sessions.is_kept(session):
            return self._without_session(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self.adopt(session)
        before_bytes = session.size_bytes
        yield from session.update(request, broker.topic_name)
        if not session.partitions:  # everything was forgotten: the session ends
            sessions.close(session.id)
            self.is_incremental = False
            self.adopt(FetchSession(NO_SESSION, by_id, broker.turn.monotonic_ms))
            named = FetchRequest(max_wait_ms=0, min_bytes=0, topics=request.topics)
            yield from self.session.update(named, broker.topic_name)
        elif session.size_bytes > before_bytes and not sessions.has_grown(session, broker.turn.monotonic_ms):
            return self._without_session(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        sessions.used_by(session, self.context.connection)
        return ErrorCode.NONE

    def _without_session(self, code: ErrorCode) -> ErrorCode:
        self._end()
        return code

    # Waiting

    @property
    def max_bytes(self) -> int:
        return min(self.request.max_bytes, self.broker.limits.fetch_bytes_max)

    def _count_and_answer(self) -> Steps[FetchResponse | None]:
        if self.request.max_wait_ms <= 0 or (yield from self._is_enough()):
            return (yield from self._read_and_answer(waits_for_cold=True))
        self._park()
        return None

    def _park(self) -> None:
        session, connection = self.session, self.context.connection
        if connection.is_closed:  # while it was counted in slices
            self._end()
            return
        self.broker.purgatory.add(self, self.deadline_ms)
        connection.parked[self] = None
        self.context.request.buffer = _NO_BYTES  # which may be large, and was read
        connection.let_go(self.context.request.sequence)  # the end of a held connection would not be seen
        if session.id == NO_SESSION:
            self.kept_bytes = session.size_bytes
            connection.keep(self.kept_bytes)

    def _is_enough(self) -> Steps[bool]:
        """Tell whether there is enough to answer. An unknown topic does not end the wait, unless nothing else was asked
        for: a client that goes on asking for a deleted topic would never rest."""
        session, unknown = self.session, 0
        self.counted_bytes = 0
        for entry in session.to_look_at():
            entry.counted_bytes = 0  # of an earlier request
            counted = self._counted(entry)
            if counted == PLENTY:
                return True
            unknown += counted == UNKNOWN_PARTITION
            yield
        while self.moved_meanwhile:
            moved, self.moved_meanwhile = self.moved_meanwhile, {}
            for entry in moved:
                if self._counted(entry) in (PLENTY, UNKNOWN_PARTITION):
                    return True
                yield
        return unknown == len(session.partitions) or self._has_counted_enough()

    def _counted(self, entry: FetchEntry) -> int:
        """Count what the partition could answer with by now. The sum follows, unless that is no number of bytes."""
        counted = count_bytes(self.broker, entry, self.isolation)
        if counted == UNKNOWN_PARTITION:
            entry.counted_bytes = 0
        elif counted != PLENTY:
            self.counted_bytes += counted - entry.counted_bytes
            entry.counted_bytes = counted
        return counted

    def _has_counted_enough(self) -> bool:
        return self.counted_bytes >= self.wanted_bytes

    def moved(self, entry: FetchEntry) -> None:
        """Count the bytes of a partition that has moved anew, and answer if there is enough now."""
        if self.is_under_way:
            self.moved_meanwhile[entry] = None
        elif not self.warming:
            counted = self._counted(entry)
            if counted in (PLENTY, UNKNOWN_PARTITION) or self._has_counted_enough():
                self._finish(waits_for_cold=True)

    def is_abandoned(self) -> bool:
        if self.context.connection.is_closed:
            self.abandon()
        return self.is_done

    def abandon(self) -> None:
        """Let go of everything at once, since nobody hears the answer and the wait may be one of weeks. A fetch that is
        under way notices by itself."""
        if not self.is_done and not self.is_under_way:
            self._end()

    def expire(self) -> None:
        """Answer with what there is, because the time is up. A range that is being warmed is still waited for."""
        if not self.warming and not self.is_under_way:
            self._finish(waits_for_cold=True)

    def hurry(self) -> None:
        """Answer without what is not in the page cache: the session goes on without this request, or ends. A fetch of
        many partitions only begins to be answered."""
        if not self.is_done and not self.is_under_way:
            self._finish(waits_for_cold=False)

    def _finish(self, *, waits_for_cold: bool) -> None:
        """Read and answer after a wait: now, or in slices where the fetch is about many partitions."""
        steps = self._guarded(self._read_and_answer(waits_for_cold=waits_for_cold))
        if len(self.session.unsettled) > WHOLE_ELEMENTS_MAX:
            self.is_under_way = True
            self.context = self.broker.slices.go_on(self.context, self.request, steps)
            return
        context, request = self.context, self.request
        try:
            response = run_whole(steps)
        except Exception as error:  # noqa: BLE001 - as in `dispatch`: a bug costs one request, not the node
            self.broker.dispatch.fail(context, request, error)
            return
        if response is not None:
            context.respond(response)

    # Reading

    def _read_and_answer(self, *, waits_for_cold: bool) -> Steps[FetchResponse | None]:
        """Read, and return the response. None where some range has to be warmed first, or the connection has ended."""
        fetched: list[Fetched] = []
        try:
            while True:
                yield from self._read(fetched, waits_for_cold=waits_for_cold)
                if self.context.connection.is_closed:
                    self._give_back(fetched)
                    self._end()
                    return None
                if not self.is_cold:
                    return (yield from self._answer(fetched))
                self._give_back(fetched)
                if self.warming:
                    return None  # `warmed` goes on
                self.warm_rounds += 1
        except BaseException:
            self._give_back(fetched)
            raise

    def _read(self, fetched: list[Fetched], *, waits_for_cold: bool) -> Steps[None]:
        """Read each partition. Where `is_cold` is set afterwards, the answers are not whole. A partition that has
        nothing to say is settled as it is read: when it moves afterwards, it is looked at again."""
        session, connection = self.session, self.context.connection
        left, is_first = self.max_bytes, True
        may_wait = waits_for_cold and self.warm_rounds >= WARM_ROUNDS_MAX
        self.is_cold = False
        for entry in session.to_look_at():
            if connection.is_closed:
                return
            one = self._read_one(entry, left, is_first, may_wait, waits_for_cold)
            if one is not None:
                fetched.append(one)
                left = max(0, left - one.size_bytes)
                is_first = is_first and not one.size_bytes
                if one.is_settled and not one.size_bytes and one.partition is not None and session.is_lasting:
                    session.settle(entry, one.partition)
            yield

    def _read_one(
        self, entry: FetchEntry, left: int, is_first: bool, may_wait: bool, waits_for_cold: bool
    ) -> Fetched | None:
        broker = self.broker
        try:
            one = fetch_partition(broker, entry, self.isolation, left, min_one_batch=is_first, may_wait=may_wait)
        except ColdRead as cold:
            if waits_for_cold and not self._wait_for(cold.begin_warm):
                return Fetched(entry, refused(entry.request.partition, ErrorCode.KAFKA_STORAGE_ERROR))
            return None
        found = one.found
        if not one.take_range(broker, may_wait=may_wait):
            one.leave_out()
            if waits_for_cold and found is not None and not self._wait_for(found.begin_warm):
                one.data = refused(entry.request.partition, ErrorCode.KAFKA_STORAGE_ERROR)
        return one

    def _give_back(self, fetched: list[Fetched]) -> None:
        """Release the files of answers that are not sent; their partitions have everything still to say."""
        unsettled = self.session.unsettled
        for each in fetched:
            each.release()
            unsettled[each.entry] = None
        fetched.clear()

    def _wait_for(self, begin: Callable[[], Ticket]) -> bool:
        """Have a helper warm a range; False where the disk refuses even that."""
        try:
            ticket = begin()
        except StorageFault as fault:
            self.broker.storage_fault(fault)
            return False
        self.is_cold = True
        self.warming += 1
        self.broker.when_warm(ticket, self)
        return True

    def warmed(self, _ticket: Ticket) -> None:
        """Go on after a helper is done with a range, well or not: a disk that fails will say so to whoever reads it."""
        self.warming -= 1
        if not self.warming and not self.is_done and not self.is_under_way:
            self.warm_rounds += 1
            self._finish(waits_for_cold=True)

    # Answering

    def _answer(self, fetched: list[Fetched]) -> Steps[FetchResponse | None]:
        session, repeated = self.session, self.session.repeated
        if repeated is not None:
            if all(each.is_plain for each in fetched):
                self._repeat(repeated, fetched)
                return None
            fetched = repeated.with_settled(fetched)
            self.context.connection.forget_repeated_fetch()
        answer = FetchAnswer(self.broker, self.context, session, is_incremental=self.is_incremental)
        for each in fetched:
            answer.add(each)
            yield
        self._end()
        self.has_records = answer.has_records
        return answer.response()

    def _repeat(self, repeated: "RepeatedFetch", fetched: list[Fetched]) -> None:
        parts = repeated.parts(self.context.request.correlation_id, fetched)
        self._end()
        self.context.send(parts, 0)


_NO_BYTES: Final = bytearray()
_NOTHING: Final = FetchSession(NO_SESSION, False, 0)  # of a fetch that is over, or not begun
_NO_REQUEST: Final = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[])
