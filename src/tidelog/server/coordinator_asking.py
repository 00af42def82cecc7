"""How handlers ask coordinators: one of them, or several of which the answers are put together.

A coordinator's machine answers with the API's own response. Where there is none (this broker does not coordinate the
group, or is still loading it) the answer is an ErrorCode or an ApiError, and the API's `refuse` makes a response of it.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.server.handling import RequestContext

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

Refuse: TypeAlias = Callable[[Any, ErrorCode, str | None], Any]
Answer: TypeAlias = Callable[[Any], None]


def coordinator_request(broker: "Broker", context: RequestContext, body: Any) -> CoordinatorRequest:
    host = f"/{context.connection.accepted.peer.host}"
    return CoordinatorRequest(body, context.api_version, broker.turn.wall_ms, context.client_id, host)


def ask_group(
    broker: "Broker", context: RequestContext, group_id: str, body: Any, refuse: Refuse, answer: Answer | None = None
) -> None:
    """The group's coordinator; `answer` (the client, by default) gets the response."""
    answer = context.respond if answer is None else answer
    request = coordinator_request(broker, context, body)
    broker.coordinators.groups.submit(group_id, request, _responding(body, refuse, answer))


def ask_transaction(
    broker: "Broker", context: RequestContext, transactional_id: str, body: Any, refuse: Refuse, answer: Answer
) -> None:
    """The coordinator of this transactional id; `answer` gets the response."""
    request = coordinator_request(broker, context, body)
    broker.coordinators.transactions.submit(transactional_id, request, _responding(body, refuse, answer))


def _responding(body: Any, refuse: Refuse, answer: Answer) -> Answer:
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
) -> None:
    """Each coordinator about its groups among these, which `body_for` makes a request of; `done` gets the responses."""
    by_partition: dict[int, list[str]] = {}
    for group_id in group_ids:
        by_partition.setdefault(broker.coordinators.groups.partition_for(group_id), []).append(group_id)
    gathering = Gathering(len(by_partition), done)
    for index, part in enumerate(by_partition.values()):
        ask_group(broker, context, part[0], body_for(part), refuse, gathering.part(index))
