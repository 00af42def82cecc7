"""Who coordinates a group or a transactional id, and asking that broker until it answers.

A coordinator moves, and loads what it has to know before it answers. Both pass by themselves: the question is asked
again, of whoever coordinates by then, until the client's `retry_timeout_ms` is over. The error that is raised then is
the last that was heard.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, Final

from tidelog.client.backoff import Backoff
from tidelog.client.client import Client
from tidelog.client.errors import ClientError, TimedOut, error_code
from tidelog.model.errors import CANNOT_BE_CREATED, RETRIABLE, ErrorCode
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest

# After these the coordinator is looked up again: it has moved, or was not reached. (While it loads it stays the same.)
MOVED: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.BROKER_NOT_AVAILABLE,
)

# After these the question is asked again. An unknown topic is not among them: waiting would not mend it.
_PASSES: Final = RETRIABLE.union(MOVED) - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}

CodeOf = Callable[[Any], int]


class CoordinatorType(IntEnum):
    """Numbered as FindCoordinator numbers them."""

    GROUP = 0
    TRANSACTION = 1

    def __str__(self) -> str:
        return "group" if self is CoordinatorType.GROUP else "transactional id"


class CoordinatorClient:
    """The coordinators of groups, or of transactional ids, as far as they are known."""

    def __init__(self, client: Client, kind: CoordinatorType) -> None:
        self._client = client
        self._kind = kind
        self._known: dict[str, int] = {}

    def find(self, key: str) -> int:
        """Return the node that coordinates `key`, or raise why there is none."""
        outcome = self.find_all([key])[key]
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    def find_all(self, keys: Iterable[str]) -> dict[str, int | ClientError]:
        """Return the node that coordinates each key. Those that are not available yet are waited for: the first to ask
        has the coordinators' topic created."""
        client = self._client
        outcomes: dict[str, int | ClientError] = {key: self._known.get(key, -1) for key in keys}
        left = [key for key, node_id in outcomes.items() if node_id == -1]
        backoff, deadline_ms = Backoff(client.world.entropy), client.now_ms() + client.retry_timeout_ms
        while left:
            outcomes.update(self.find_now(left))
            left = [key for key in left if _is_worth_a_try(outcomes[key])]
            if not left or client.now_ms() >= deadline_ms:
                break
            client.pause(backoff.next_ms())
        return outcomes

    def find_now(self, keys: Sequence[str]) -> dict[str, int | ClientError]:
        """Ask once which nodes coordinate the keys."""
        asked = f"find the coordinator of {self._kind}"
        request = FindCoordinatorRequest(key_type=self._kind, coordinator_keys=list(keys))
        response = self._client.ask(request, f"{asked} {', '.join(keys)}")
        silent = ErrorCode.UNKNOWN_SERVER_ERROR, "the response leaves it out"
        outcomes: dict[str, int | ClientError] = {
            key: ClientError(silent[0], f"{asked} {key}", self._client.name, silent[1]) for key in keys
        }
        for found in response.coordinators:
            code, of = error_code(found.error_code), self._client.name
            step = "" if _is_in_vain(found.error_message) else None  # the message says what to do
            refused = ClientError(code, f"{asked} {found.key}", of, found.error_message, step)
            outcomes[found.key] = refused if found.error_code else found.node_id
            if not found.error_code:
                self._known[found.key] = found.node_id
        return outcomes

    def forget(self, key: str) -> None:
        self._known.pop(key, None)

    def known(self, key: str) -> int | None:
        return self._known.get(key)

    def ask(
        self,
        key: str,
        request: object,
        asked: str,
        code_of: CodeOf,
        *,
        version_max: int | None = None,
        timeout_ms: int | None = None,
    ) -> Any:
        """Return the response of the coordinator. `code_of` finds the error code that stands for a whole response:
        after one that passes by itself the question is asked again, any other is the caller's to read."""
        client = self._client
        deadline_ms = client.now_ms() + (client.retry_timeout_ms if timeout_ms is None else timeout_ms)
        backoff = Backoff(client.world.entropy)
        while True:
            node_id = self.find(key)
            outcome = client.ask_once(request, asked, node_id, max(1, deadline_ms - client.now_ms()), version_max)
            code = outcome.code if isinstance(outcome, ClientError) else error_code(code_of(outcome))
            if code in MOVED:
                self.forget(key)
            if code not in _PASSES or client.now_ms() >= deadline_ms:
                return _value(outcome, code, asked, str(client.metadata.nodes.get(node_id, client.name)))
            client.pause(backoff.next_ms())


def passing(codes: Iterable[int]) -> int:
    """Return the first code, among those of a response's items, that passes by itself; 0 where there is none."""
    return next((code for code in codes if code and error_code(code) in _PASSES), 0)


def _value(outcome: Any, code: ErrorCode, asked: str, of: str) -> Any:
    if isinstance(outcome, ClientError):
        raise outcome
    if code in _PASSES:
        raise TimedOut(code, asked, of, "it did not pass in time")
    return outcome


def _is_worth_a_try(outcome: int | ClientError) -> bool:
    return isinstance(outcome, ClientError) and outcome.code in RETRIABLE and not _is_in_vain(outcome.message)


def _is_in_vain(message: str | None) -> bool:
    """Tell whether the broker's message says that the coordinator will never be available, though the code says "not
    yet"."""
    return CANNOT_BE_CREATED in (message or "")
