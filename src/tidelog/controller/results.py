"""What a request comes to. The records take effect when the driver replays them, not before; the response is sent when
they are committed.

Work that grows with the number of partitions is a generator: at each `yield` the driver may serve somebody else
(though no other request to this machine), and what it returns at last is the result.
"""

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

from tidelog.model.decisions import Record, Result, finish
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclass import dataclass, field

__all__ = ["RECORDS_MAX", "SLICE", "ControllerRequest", "Outcome", "Record", "Result", "Slices", "Steps", "finish"]

T = TypeVar("T")

# What one request may write, as in Kafka: more would be a batch that no follower takes in one fetch.
RECORDS_MAX = 10_000

# Partitions between two yields: 1 to 3 ms of work.
SLICE = 250


Slices: TypeAlias = Generator[None, None, T]
Steps: TypeAlias = Slices[Result]


@dataclass(slots=True, frozen=True)
class ControllerRequest:
    """A request together with what only the server knows of it; a bare message is taken to have these defaults."""

    message: Any
    # The version it was sent in; None is the newest.
    api_version: int | None = None
    # Whether a broker has checked it and passed it on. Otherwise it came straight to the controller's own listener.
    is_forwarded: bool = True


@dataclass(slots=True)
class Outcome:
    """The outcome of one item of a request. `NONE` with no message is success."""

    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    records: list[Record] = field(default_factory=list)

    @classmethod
    def refused(cls, error: ApiError) -> "Outcome":
        return cls(error.code, error.message)
