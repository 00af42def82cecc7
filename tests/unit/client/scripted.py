"""A client whose brokers give the answers that a test wrote down, for answers that a real node gives only on its worst
day."""

from collections.abc import Callable
from typing import Any

from tidelog.client.client import Client
from tidelog.client.metadata import Node
from tidelog.protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from tidelog.sim.clock import SimClock
from tidelog.sim.entropy import SimEntropy


class ScriptedWorld:
    """A world whose clock moves only while the client waits."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.entropy = SimEntropy(1)
        self.network: Any = self

    def resolve(self, _host: str, _port: int) -> list[str]:
        raise AssertionError("nothing is ever connected")

    def wait(self, timeout_ms: int) -> None:
        self.clock.advance(max(1, timeout_ms))

    def poll(self) -> None: ...

    def close(self) -> None: ...


class ScriptedClient(Client):
    """A client with scripted answers. `answers` has, for each kind of request, the answers in order; the last is
    repeated. A function is called with the request."""

    def __init__(self, nodes: int = 1, **options: Any) -> None:
        super().__init__("nobody:1", world=ScriptedWorld(), **options)
        self.metadata.nodes = {index: Node(index, "host", 9092) for index in range(1, nodes + 1)}
        self.answers: dict[str, list[Any]] = {}
        self.asked: list[tuple[int, Any, int | None]] = []  # node, request, highest version

    def send(self, node_id: int, request: Any, on_done: Callable[[Any], None], **options: Any) -> None:
        self.asked.append((node_id, request, options.get("version_max")))
        script = self.answers[type(request).__name__.removesuffix("Request")]
        answer = script.pop(0) if len(script) > 1 else script[0]
        on_done(answer(request) if callable(answer) else answer)

    def refresh(self) -> None: ...

    def requests(self, kind: type) -> list[Any]:
        return [request for _, request, _ in self.asked if isinstance(request, kind)]


def coordinator(key: str, node_id: int, code: int = 0, message: str | None = None) -> FindCoordinatorResponse:
    found = Coordinator(key=key, node_id=node_id, host="host", port=9092, error_code=code, error_message=message)
    return FindCoordinatorResponse(coordinators=[found])
