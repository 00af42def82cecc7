"""What the subjects of the admin client share: a client, and turning error codes into outcomes."""

from collections.abc import Mapping
from typing import TypeVar

from tidelog.client.client import Client
from tidelog.client.errors import ClientError, error_code

T = TypeVar("T")
Outcomes = dict[str, T | ClientError]


class AdminBase:
    """The base of every subject of the admin client."""

    client: Client

    def refusal(self, code: int, asked: str, message: str | None = None) -> ClientError | None:
        """Return the error that a code stands for; None for the code 0."""
        return ClientError(error_code(code), asked, self.client.name, message) if code else None

    def require(self, code: int, asked: str, message: str | None = None) -> None:
        """Raise the error that a code stands for, unless the code is 0."""
        refused = self.refusal(code, asked, message)
        if refused is not None:
            raise refused


def only(outcomes: Mapping[str, T | ClientError], name: str) -> T:
    """Return the outcome of the only thing that was asked for, or raise it where it is an error."""
    outcome = outcomes[name]
    if isinstance(outcome, ClientError):
        raise outcome
    return outcome
