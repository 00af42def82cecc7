"""The driver of every replicated machine: the controller, groups and transactions.

    submit -> handle -> records: staged, replayed at once -> one write at the end of the turn
                     -> the high watermark passes them -> reply

    idle --start--> loading (replays what is committed) --> active --drop--> idle, with a new machine at the next start

The next request of a turn sees what the last one decided, and nobody outside sees it before it is committed: an answer
waits for the high watermark to pass everything that was in the log when it was given, whether it added to it or only
looked. When the write fails, or the leadership goes, what the machine believes may never come true. It is dropped, and
who waits is told to ask elsewhere.

A machine may leave a request unanswered (PENDING: a member waits for the others) and answer it by what it decides
later, on whatever occasion. What it wants done in the world (effects: markers to be written elsewhere) is handed on
when the records that say so are committed, like an answer.

Long work is a generator that gives the turn back. Nothing else runs on the machine in between, so it may rely on what
it has read. Compiled by mypyc: requests to coordinators come by the ten thousand a second.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from mypy_extensions import mypyc_attr

from tidelog.model.decisions import PENDING
from tidelog.model.errors import ApiError, ErrorCode

Record: TypeAlias = tuple[Any, int]
# Takes the response, or why there is none: an ErrorCode from here, an ApiError as the machine raised it.
Reply: TypeAlias = Callable[[Any], None]


class Result(Protocol):
    """What a machine decided. Any object with these properties will do (`model.decisions.Result`)."""

    @property
    def records(self) -> Sequence[Record]: ...

    @property
    def response(self) -> Any: ...

    @property
    def is_atomic(self) -> bool: ...

    @property
    def answers(self) -> Sequence[tuple[Any, Any]]:
        """Requests that were left pending, as `handle` got them, and their responses."""
        ...

    @property
    def effects(self) -> Sequence[Any]: ...


Steps: TypeAlias = Generator[None, None, Result]
Activation: TypeAlias = Callable[[int], Result]  # at this time


class Machine(Protocol):
    @property
    def deadline(self) -> int | None: ...

    def handle(self, now_ms: int, request: Any) -> Result | Steps: ...

    def replay(self, message: Any) -> None: ...

    def step(self, now_ms: int, wall_ms: int) -> Result | Steps: ...


class ReplicatedLog(Protocol):
    @property
    def end_offset(self) -> int:
        """The offset after the last record that is staged or written."""
        ...

    @property
    def high_watermark(self) -> int: ...

    def append_steps(self, records: Sequence[Record], wall_ms: int, *, is_atomic: bool) -> Generator[None, None, None]:
        """Stage all records at the last step, giving the turn back where that takes long. AppendRefused, and nothing is
        staged, where the records are too many to become visible together."""
        ...

    def commit(self, now_ms: int, wall_ms: int) -> bool:
        """Write what is staged. False: nothing of it was written."""
        ...


@mypyc_attr(allow_interpreted_subclasses=True)
class AppendRefused(Exception):
    """The log does not take these records, and has staged none of them. With UNKNOWN_SERVER_ERROR the machine should
    not have tried; any other code is the answer to the request (a fenced producer, say)."""

    def __init__(self, reason: str, code: ErrorCode = ErrorCode.UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(reason)
        self.code = code


@mypyc_attr(allow_interpreted_subclasses=True)
class ReplayFailed(Exception):
    """A machine could not replay a message of its log while it was loaded: `message` says which of the slice that was
    handed over last. The log is damaged, or there is a bug; whoever owns the machine knows what is lost with it."""

    def __init__(self, message: int, reason: str) -> None:
        super().__init__(reason)
        self.message = message


# Replayed between two yields: about a millisecond of work.
RECORDS_A_SLICE: Final = 250

M = TypeVar("M", bound=Machine)


# No dataclasses: compiled, these are made in a quarter of the time.


class _Request:
    def __init__(self, arrived_ms: int, request: Any, reply: Reply) -> None:
        self.arrived_ms = arrived_ms
        self.request = request
        self.reply = reply


class _Waiting:
    """A response that is decided, and is told once the high watermark has reached `offset`."""

    def __init__(self, offset: int, reply: Reply, response: Any) -> None:
        self.offset = offset
        self.reply = reply
        self.response = response


_Work: TypeAlias = Generator[None, None, None]


class _Running:
    """The one request that is being worked on, from `handle` to the last replay."""

    def __init__(self, steps: _Work, reply: Reply) -> None:
        self.steps = steps
        self.reply = reply


def _nobody(_response: Any) -> None:
    """Ignore the response: nobody waits for what the machine does by itself."""


class Replicated(Generic[M]):
    def __init__(
        self,
        log: ReplicatedLog,
        lost: ErrorCode,
        on_bug: Callable[[Any, Exception], None],
        loading: ErrorCode | None = None,
        on_effect: Callable[[Any], None] | None = None,
    ) -> None:
        """`lost` is the answer of a node that does not lead, `loading` (by default the same) that of one that soon
        will. `on_bug` is told of a request whose handling failed: it costs that request. `on_effect` gets the effects
        of committed decisions, in their order."""
        self.machine: M | None = None
        self._log = log
        self._lost = lost
        self._loading_code = lost if loading is None else loading
        self._on_bug = on_bug
        self._on_effect = on_effect or _nobody
        self._loading: Iterator[Sequence[Any]] | None = None
        self._activation: Activation | None = None
        self._activated: Result | None = None  # the activation's decision, while the log takes nothing
        self._requests: deque[_Request] = deque()
        self._running: _Running | None = None
        self._waiting: deque[_Waiting] = deque()
        self._pending: dict[Any, Reply] = {}  # by request
        self._wall_ms = 0  # the wall clock of this turn
        self.hold_steps_until_ms: int | None = None  # the log takes nothing now: the machine does nothing by itself

    # Its life

    @property
    def is_idle(self) -> bool:
        return self.machine is None

    @property
    def is_active(self) -> bool:
        return self.machine is not None and self._loading is None

    @property
    def deadline(self) -> int | None:
        """The time at which the machine wants a turn even if nothing is submitted; None: never."""
        deadline = self.machine.deadline if self.is_active and self.machine is not None else None
        held_ms = self.hold_steps_until_ms
        if self._activated is not None:
            return 0 if held_ms is None else held_ms
        return deadline if deadline is None or held_ms is None else max(deadline, held_ms)

    @property
    def has_work(self) -> bool:
        """Tell whether the next turn should come at once."""
        return self._loading is not None or self._running is not None or bool(self._requests)

    @property
    def has_line(self) -> bool:
        """Tell whether requests were submitted that are not being handled yet."""
        return bool(self._requests)

    @property
    def is_waiting(self) -> bool:
        """Tell whether answers are held back until the high watermark moves."""
        return bool(self._waiting)

    @property
    def is_free(self) -> bool:
        """Tell whether a request could be decided at once: the machine is active, and no request is before it."""
        return self.is_active and self._running is None and not self._requests and self._activated is None

    def start(self, machine: M, committed: Iterator[Sequence[Any]], activation: Activation | None = None) -> None:
        """Load a new machine: it replays all messages of `committed` (the whole log, a batch at a time), and then
        begins with `activation`. Meanwhile only this driver appends to the log."""
        assert self.machine is None, "the last one is still there"
        self.machine = machine
        self._loading = committed
        self._activation = activation

    def drop(self) -> None:
        """Forget the machine, because the leadership is gone or the log could not be written. Committed answers are
        given as they are; everybody else who waits is told `lost`."""
        self.answer()
        self.machine = self._loading = self._activation = self._activated = None
        if self._running is not None:
            self._running.steps.close()
            self._running.reply(self._lost)
            self._running = None
        requests, self._requests = self._requests, deque()
        waiting, self._waiting = self._waiting, deque()
        pending, self._pending = self._pending, {}
        for reply in [*(each.reply for each in waiting), *pending.values(), *(each.reply for each in requests)]:
            if reply is not self._on_effect:
                reply(self._lost)

    # Requests

    def submit(self, now_ms: int, request: Any, reply: Reply) -> None:
        """Queue a request for this turn, or the next that has time. `reply` is called once, with the machine's response
        or why there is none; never before this returns, except to say that this node is not the one to ask."""
        if self.machine is None:
            reply(self._lost)
        elif self._loading is not None:
            reply(self._loading_code)
        else:
            self._requests.append(_Request(now_ms, request, reply))

    def hold(self, reply: Reply, response: Any) -> None:
        """Hold the response to a decision that the caller has staged and replayed itself while the machine was free,
        until it is committed. The next turn must come at once, to write it."""
        self._wait(reply, response)

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> None:
        """Handle what was submitted until `is_over`, write what was decided, and answer what is committed."""
        self._wall_ms = wall_ms
        self._load(now_ms, is_over)
        if self.is_active:
            self._step_if_due(now_ms)
            self._handle_all(is_over)
        if self.machine is not None and not self._log.commit(now_ms, wall_ms):
            self.drop()
        self.answer()

    def answer(self) -> None:
        """Give the answers whose records the high watermark has passed, in the order in which they were decided."""
        high_watermark = self._log.high_watermark
        while self._waiting and self._waiting[0].offset <= high_watermark:
            waiting = self._waiting.popleft()
            waiting.reply(waiting.response)

    def _load(self, now_ms: int, is_over: Callable[[], bool]) -> None:
        while self._loading is not None and self.machine is not None:
            messages = next(self._loading, None)
            if messages is None:
                self._loading = None
                self._activate(now_ms)
                return
            self._replay_loaded(self.machine, messages)
            if is_over():
                return

    def _replay_loaded(self, machine: M, messages: Sequence[Any]) -> None:
        count = 0
        try:
            for message in messages:
                machine.replay(message)
                count += 1
        except Exception as bug:
            raise ReplayFailed(count, f"{type(bug).__name__}: {bug}") from bug

    def _activate(self, now_ms: int) -> None:
        activation, self._activation = self._activation, None
        if activation is not None:
            self._activated = result = activation(now_ms)
            held_ms = self.hold_steps_until_ms
            if not result.records or held_ms is None or now_ms >= held_ms:
                self._begin_activated(result)

    def _begin_activated(self, result: Result) -> None:
        self._activated = None
        self._running = _Running(self._carry_out(result), _nobody)

    def _step_if_due(self, now_ms: int) -> None:
        machine, deadline = self.machine, self.deadline
        if machine is None or deadline is None or now_ms < deadline or self._running is not None:
            return
        if self._activated is not None:
            self._begin_activated(self._activated)
            return
        running = self._running = _Running(self._carry_out(machine.step(now_ms, self._wall_ms)), _nobody)
        self._go_on(running)  # beside what a turn gets done however little time it has: timers keep nobody waiting

    def _handle_all(self, is_over: Callable[[], bool]) -> None:
        is_first = True
        while (self._running is not None or self._requests) and (is_first or not is_over()):
            is_first = False  # however little time there is, something gets done
            if self._running is None:
                request = self._requests.popleft()
                self._running = _Running(self._handle(request), request.reply)
            self._go_on(self._running)

    def _go_on(self, running: _Running) -> None:
        """Run the work up to its next yield, or to its end."""
        try:
            next(running.steps)
        except StopIteration:
            self._running = None

    def _handle(self, request: _Request) -> _Work:
        assert self.machine is not None
        try:
            work = self.machine.handle(request.arrived_ms, request.request)
            result = (yield from work) if isinstance(work, Generator) else work
        except ApiError as error:
            self._wait(request.reply, error)
        except Exception as bug:  # noqa: BLE001 - in `handle` it costs one request, not the node
            self._failed(request.request, bug, request.reply)
        else:
            yield from self._decided(result, request.request, request.reply)

    def _carry_out(self, work: Result | Steps) -> _Work:
        """Stage what the machine decided by itself. A bug in it is not caught: no request could be blamed."""
        result = (yield from work) if isinstance(work, Generator) else work
        yield from self._decided(result, work, _nobody)

    def _decided(self, result: Result, request: Any, reply: Reply) -> _Work:
        """Stage and replay the records of a decision. Once they are staged, a record that can not be replayed is a bug
        that must end this process: it is no longer one request's affair."""
        assert self.machine is not None
        if result.records:
            try:
                yield from self._log.append_steps(result.records, self._wall_ms, is_atomic=result.is_atomic)
            except AppendRefused as refused:
                self._refused(result, request, refused, reply)
                return
            for count, (message, _version) in enumerate(result.records, 1):
                self.machine.replay(message)
                if count % RECORDS_A_SLICE == 0:
                    yield
        if result.response is PENDING:
            self._pending[request] = reply
        else:
            self._wait(reply, result.response)
        for answered, response in result.answers:
            self._wait(self._pending.pop(answered), response)
        for effect in result.effects:
            self._wait(self._on_effect, effect)

    def _refused(self, result: Result, request: Any, refused: AppendRefused, reply: Reply) -> None:
        """Answer everybody who was to hear of the decision that the log refused it."""
        if refused.code is ErrorCode.UNKNOWN_SERVER_ERROR:
            self._on_bug(request, refused)
        for each in [reply, *(self._pending.pop(answered) for answered, _response in result.answers)]:
            self._wait(each, refused.code)

    def _failed(self, request: Any, bug: Exception, reply: Reply) -> None:
        self._on_bug(request, bug)
        self._wait(reply, ErrorCode.UNKNOWN_SERVER_ERROR)

    def _wait(self, reply: Reply, response: Any) -> None:
        self._waiting.append(_Waiting(self._log.end_offset, reply, response))

    # For tests and tools

    def validate_state(self, twin: M, committed: Iterator[Sequence[Any]], state_of: Callable[[M], Any]) -> None:
        """Assert that the durable state is what a fresh replay makes of `twin`. Everything must be committed."""
        assert self.machine is not None
        assert self._log.high_watermark == self._log.end_offset, "there are uncommitted records"
        for messages in committed:
            for message in messages:
                twin.replay(message)
        assert state_of(twin) == state_of(self.machine), "the live state is not what the log says"
