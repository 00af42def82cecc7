"""The errors that a user of the source or the sink gets to read: what happened, where, and what to do next.

Spark prints the chain of causes from its beginning, so an error of ours that was raised `from` a client's would stand
below it, after a page of stack. Hence `told`: the client's text becomes part of ours, and the cause is cut off.

Errors cross processes (task to driver, driver to notebook), so each is made of its positional arguments alone: an
exception pickles as its class and those arguments.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode


class TidelogError(Exception):
    """An error for the user: `what` happened, `where`, and the `step` to take next."""

    def __init__(self, what: str, where: str = "", step: str = "") -> None:
        super().__init__(what, where, step)
        self.what = what
        self.where = where
        self.step = step

    def __str__(self) -> str:
        where = f" ({self.where})" if self.where else ""
        step = f"; {self.step}" if self.step else ""
        return f"{self.what}{where}{step}"


class OptionError(TidelogError, ValueError):
    """An option whose value is wrong, contradictory or not supported. The message begins with the option's name."""

    def __init__(self, option: str, problem: str, step: str = "") -> None:
        super().__init__(f"{option}: {problem}", "", step)
        self.args = (option, problem, step)
        self.option = option
        self.problem = problem


class DataLoss(TidelogError):
    """Records that the query has yet to read are not there any more (`failOnDataLoss`)."""

    def __init__(
        self, topic: str, partition: int, wanted: int, available: tuple[int, int] | None, reason: str = ""
    ) -> None:
        """`available`: the first offset that the log still has, and its end; None where the partition itself is gone.
        `reason`: why the records are gone, where it is known."""
        because = reason or ("it was deleted" if available is None else "they were deleted, or the topic was made anew")
        what = f"{topic}-{partition}: offset {wanted} is wanted, {_there(available)}: {because}"
        step = "set failOnDataLoss to false to go on with what is there, or start a new checkpoint"
        super().__init__(what, "", step)
        self.args = (topic, partition, wanted, available, reason)
        self.topic = topic
        self.partition = partition
        self.wanted = wanted
        self.available = available


def _there(available: tuple[int, int] | None) -> str:
    if available is None:
        return "the partition is gone"
    first, end = available
    return f"offsets {first} to {end - 1} are available" if first < end else f"the log is empty at offset {end}"


class SinkError(TidelogError):
    """Rows that could not be written."""


class ClusterError(TidelogError):
    """A broker refused a request, or could not be reached. `code` is Kafka's."""

    def __init__(self, what: str, where: str = "", step: str = "", code: ErrorCode = ErrorCode.NONE) -> None:
        super().__init__(what, where, step)
        self.args = (what, where, step, code)
        self.code = code


def of_client(error: ClientError, doing: str) -> ClusterError:
    """Return the client's error as ours. `doing`: what was being done, in the user's words: "plan a read of topic
    orders"."""
    said = f": {error.message}" if error.message else ""
    return ClusterError(f"{doing}: {error.code.name}{said}", f"{error.asked}, {error.of}", error.step, error.code)


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Raise a ClientError of the block as our ClusterError, without the client's stack. `doing`: as of `of_client`."""
    try:
        yield
    except ClientError as error:
        raise of_client(error, doing) from None
