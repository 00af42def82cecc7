"""What a replicated machine decides. The records take effect when the driver (`server.replicated`) replays them, not
before; what is told or done because of them waits until they are committed.
"""

from collections.abc import Generator, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from tidelog.model.lazy_dataclass import dataclass

# A message and the version it is written in.
Record: TypeAlias = tuple[Any, int]


class _Pending(Enum):
    PENDING = "pending"


# The response of a request that is answered by a later decision.
PENDING: Final = _Pending.PENDING


@dataclass(slots=True)
class Result:
    records: list[Record]
    response: Any
    # Whether the records must become visible together. Where it is False any prefix leaves the state in order.
    is_atomic: bool = True
    # Requests that were left pending, the very objects that were handled, and their responses.
    answers: Sequence[tuple[Any, Any]] = ()
    # What is to happen in the world once the records are committed.
    effects: Sequence[Any] = ()


def finish(work: Result | Generator[None, None, Result]) -> Result:
    """Return the result of a decision, or of the steps that lead to one, without a pause in between."""
    if isinstance(work, Result):
        return work
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
