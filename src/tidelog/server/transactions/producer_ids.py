"""The producer ids that this broker hands out: a block at a time from the controller, asked for before it runs out.

Ids of a block that was not used up when the broker stopped are lost, and nobody misses them: no id is given twice.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

Answer = Callable[[int | ErrorCode], None]
ASK_BELOW: Final = 100  # ids left


class ProducerIds:
    """The blocks of producer ids that this broker has, and the requests that wait for an id."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._blocks: deque[tuple[int, int]] = deque()  # the next id of each block, and how many are left in it
        self._waiting: deque[Answer] = deque()
        self._ready: deque[Callable[[ErrorCode], None]] = deque()
        self._is_asking = False

    def next(self, answer: Answer) -> None:
        """Call `answer` with a new producer id, or with why there is none: at once, or when the controller has
        answered."""
        self._waiting.append(answer)
        self._serve()

    def take(self) -> int | None:
        """Return a producer id, for a coordinator, which can not wait; None: this broker has none at the moment."""
        taken = self._take() if self._blocks else None
        self._ask_if_few()
        return taken

    def when_some(self, ready: Callable[[ErrorCode], None]) -> None:
        """Call `ready` with NONE, perhaps at once, when `take` will return an id; or with why there are none."""
        if self._blocks:
            ready(ErrorCode.NONE)
            return
        self._ready.append(ready)
        self._ask_if_few()

    def _serve(self) -> None:
        while self._waiting and self._blocks:
            self._waiting.popleft()(self._take())
        self._ask_if_few()

    def _take(self) -> int:
        first, count = self._blocks.popleft()
        if count > 1:
            self._blocks.appendleft((first + 1, count - 1))
        return first

    def _ask_if_few(self) -> None:
        if self._is_asking or sum(count for _first, count in self._blocks) >= ASK_BELOW:
            return
        self._is_asking = True
        request = AllocateProducerIdsRequest(broker_id=self._broker.node_id, broker_epoch=self._broker.broker_epoch)
        self._broker.ask_controller(request, self._answered)

    def _answered(self, answer: Any) -> None:
        """Take the new block in. Without one, everybody who waits is told to try again, and the first who does asks the
        controller again."""
        self._is_asking = False
        if isinstance(answer, AllocateProducerIdsResponse) and answer.error_code == ErrorCode.NONE:
            self._blocks.append((answer.producer_id_start, answer.producer_id_len))
            self._serve()
            self._tell(ErrorCode.NONE)
            return
        waiting, self._waiting = self._waiting, deque()
        for each in waiting:
            each(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._tell(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def _tell(self, code: ErrorCode) -> None:
        ready, self._ready = self._ready, deque()
        for each in ready:
            each(code)
