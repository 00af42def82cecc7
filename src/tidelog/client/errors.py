"""What a caller of the client has to deal with: what was asked, of whom, what came back, and what to do next.

The text of an error is for the person at the terminal; `code`, `asked` and `of` are for programs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tidelog.client.next_steps import next_step
from tidelog.model.errors import RETRIABLE, ErrorCode
from tidelog.model.ids import TopicPartition

_KNOWN: Final = frozenset(map(int, ErrorCode))


def error_code(number: int) -> ErrorCode:
    """Return the ErrorCode with that number; UNKNOWN_SERVER_ERROR for one that only a newer broker knows."""
    return ErrorCode(number) if number in _KNOWN else ErrorCode.UNKNOWN_SERVER_ERROR


class ClientError(Exception):
    """Something that was asked of a broker was not done."""

    def __init__(
        self, code: ErrorCode, asked: str, of: str, message: str | None = None, step: str | None = None
    ) -> None:
        self.code = code
        self.asked = asked  # "create topic greetings"
        self.of = of  # "broker 1 at localhost:9092"
        self.message = message  # what the broker said about it, if anything
        self.step = next_step(code, message) if step is None else step
        super().__init__(code, asked, of, message)

    @property
    def is_retriable(self) -> bool:
        return self.code in RETRIABLE

    def __str__(self) -> str:
        said = f": {self.message}" if self.message else ""
        step = f"; {self.step}" if self.step else ""
        return f"{self.asked} ({self.of}): {self.code.name}{said}{step}"


class CannotConnect(ClientError):
    """No broker answers at any of the bootstrap addresses."""


class TimedOut(ClientError):
    """The time for trying ran out. `message` is the last thing that went wrong before it did."""


class UnsupportedByBroker(ClientError):
    """The broker does not serve the API, or only in versions that we do not know."""


class CorruptRecords(ClientError):
    """Fetched bytes that are not the records that they should be."""


class TransactionFailed(ClientError):
    """The transaction is in a state in which this is not possible: it failed, was fenced, or was never begun."""


class OffsetOutOfRange(ClientError):
    """The log begins after the offset, or ends before it, and the consumer was told not to choose another."""

    def __init__(self, partition: TopicPartition, offset: int, of: str) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, f"fetch {partition} from offset {offset}", of)
        self.partition = partition
        self.offset = offset


@dataclass(slots=True)
class FailedDelivery:
    """A batch whose records were not written, or of which it is not known whether they were."""

    partition: TopicPartition
    records_count: int
    error: ClientError


class DeliveryFailed(ClientError):
    """All deliveries that failed since the last `Producer.flush`, raised by the next one."""

    def __init__(self, failures: Sequence[FailedDelivery]) -> None:
        first = failures[0].error
        count = sum(failure.records_count for failure in failures)
        asked = first.asked if count == 1 else f"produce {count} records, of which the first: {first.asked}"
        super().__init__(first.code, asked, first.of, first.message, first.step)
        self.failures = list(failures)
