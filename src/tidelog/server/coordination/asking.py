"""How handlers ask coordinators: one of them, or several of which the answers are put together.

A coordinator's machine answers with the API's own response. Where there is none (this broker does not coordinate the
group, or is still loading it) the answer is an ErrorCode or an ApiError, and the API's `refuse` makes a response of it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.server.requests.handler import RequestContext, Steps

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

# The groups that one request to a coordinator is about: it may look at its clock between two requests, not within one.
GROUPS_AT_ONCE: Final = 500

Refuse: TypeAlias = Callable[[Any, ErrorCode, str | None], Any]
Answer: TypeAlias = Callable[[Any], None]


def coordinator_request(broker: "Broker", context: RequestContext, body: Any) -> CoordinatorRequest:
    host = f"/{context.connection.accepted.peer.host}"
    return CoordinatorRequest(body, context.api_version, broker.turn.wall_ms, context.client_id, host)


def ask_group(
    broker: "Broker", context: RequestContext, group_id: str, body: Any, refuse: Refuse, answer: Answer | None = None
) -> None:
    """Ask the group's coordinator; `answer` (the client, by default) gets the response."""
    answer = context.respond if answer is None else answer
    request = coordinator_request(broker, context, body)
    broker.coordinators.groups.submit(group_id, request, _responding(body, refuse, answer))


def ask_transaction(
    broker: "Broker", context: RequestContext, transactional_id: str, body: Any, refuse: Refuse, answer: Answer
) -> None:
    """Ask the coordinator of this transactional id; `answer` gets the response."""
    request = coordinator_request(broker, context, body)
    broker.coordinators.transactions.submit(transactional_id, request, _responding(body, refuse, answer))


def _responding(body: Any, refuse: Refuse, answer: Answer) -> Answer:
    """Return a reply that makes a response of an error, too."""

    def reply(said: Any) -> None:
        if isinstance(said, ApiError):
            said = refuse(body, said.code, said.message)
        elif isinstance(said, ErrorCode):
            said = refuse(body, said, None)
        answer(said)

    return reply


class Gathering:
    """The answers to the parts of a request; `done` gets them, in the order of the parts, when the last has come."""

    def __init__(self, count: int, done: Callable[[list[Any]], None]) -> None:
        self._answers: list[Any] = [None] * count
        self._missing = count
        self._done = done
        if not count:
            done([])

    def part(self, index: int) -> Answer:
        def take(answer: Any) -> None:
            self._answers[index] = answer
            self._missing -= 1
            if not self._missing:
                self._done(self._answers)

        return take


def ask_groups(
    broker: "Broker",
    context: RequestContext,
    group_ids: Sequence[str],
    body_for: Callable[[list[str]], Any],
    refuse: Refuse,
    done: Callable[[list[Any]], None],
) -> Steps[None]:
    """Ask each coordinator about its groups among these, a few at a time; `body_for` makes the requests. `done` gets
    all responses."""
    by_partition: dict[int, list[str]] = {}
    for group_id in group_ids:
        by_partition.setdefault(broker.coordinators.groups.partition_for(group_id), []).append(group_id)
        yield
    parts = [
        asked[first : first + GROUPS_AT_ONCE]
        for asked in by_partition.values()
        for first in range(0, len(asked), GROUPS_AT_ONCE)
    ]
    gathering = Gathering(len(parts), done)
    for index, part in enumerate(parts):
        ask_group(broker, context, part[0], body_for(part), refuse, gathering.part(index))
        yield
