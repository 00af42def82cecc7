"""Who changed the topics and settings of the cluster: a line for each request that changed something.

The line says who asked (client id and address), what was done, and to what; at most ten names, and how many more there
are. Values of settings are not told: some are secrets. The line is written when the controller has answered, so what it
says has happened; what was refused, or only validated, is not told.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.server.requests.handler import Steps, run_whole

if TYPE_CHECKING:
    from tidelog.server.requests.handler import RequestContext

NAMES_MAX: Final = 10
CLIENT_ID_CHARACTERS_MAX: Final = 100

# Takes a request and its answer; yields the names of what was changed, and None for each element that was not.
Changed = Callable[[Any, Any], Iterator[str | None]]


def tell_change(context: "RequestContext", action: str, names: Iterable[str | None]) -> None:
    """Log what a request changed. `action` is a verb with its object: "created the topics"."""
    run_whole(telling(context, action, names))


def telling(context: "RequestContext", action: str, names: Iterable[str | None]) -> Steps[None]:
    """Do the same in slices: a request may have changed ten thousand things."""
    shown, count = list[str](), 0
    for name in names:
        if name is not None:
            count += 1
            if count <= NAMES_MAX:
                shown.append(name)
        yield
    if not count:
        return
    client_id, peer = context.client_id, context.connection.accepted.peer
    if len(client_id) > CLIENT_ID_CHARACTERS_MAX:
        client_id = f"{client_id[:CLIENT_ID_CHARACTERS_MAX]}..."
    context.connection.broker.events.changed(client_id, peer, action, listed(shown, count), count)


def listed(names: list[str], count: int | None = None) -> str:
    """Return the first of the names, of which there are `count`, and how many more there are."""
    shown = ", ".join(names[:NAMES_MAX])
    more = (len(names) if count is None else count) - NAMES_MAX
    return f"{shown} and {more} more" if more > 0 else shown


def topics_created(_body: Any, answer: Any) -> Iterator[str | None]:
    return (each.name if _is_done(each) else None for each in answer.topics)


def topics_grown(_body: Any, answer: Any) -> Iterator[str | None]:
    return (each.name if _is_done(each) else None for each in answer.results)


def topics_deleted(_body: Any, answer: Any) -> Iterator[str | None]:
    return ((each.name or str(each.topic_id)) if _is_done(each) else None for each in answer.responses)


def configs_changed(body: Any, answer: Any) -> Iterator[str | None]:
    """Yield `topic orders (retention.ms)` for each changed resource, with the settings that the request named."""
    changed: dict[tuple[int, str], None] = {}
    for each in answer.responses:
        if _is_done(each):
            changed[each.resource_type, each.resource_name] = None
        yield None
    for each in body.resources:
        is_changed = (each.resource_type, each.resource_name) in changed
        settings = [config.name for config in each.configs]
        yield _resource(each.resource_type, each.resource_name, settings) if is_changed else None


def _resource(resource_type: int, name: str, settings: list[str]) -> str:
    kind = ResourceType(resource_type).name.lower().replace("_", " ")
    if resource_type == ResourceType.BROKER and not name:
        kind = "all brokers"
    what = f"{kind} {name}".strip()
    return f"{what} ({listed(settings)})" if settings else f"{what} (all settings unset)"


def _is_done(result: Any) -> bool:
    return bool(result.error_code == ErrorCode.NONE)
