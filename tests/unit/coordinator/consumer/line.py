"""Members whose requests come in line with others: some are answered at once, others together with their crowd."""

from dataclasses import dataclass, field
from typing import Any

from tests.unit.coordinator.consumer.bench import GROUP, Bench, Client

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


@dataclass
class Line:
    bench: Bench
    waiting: dict[CoordinatorRequest, Client] = field(default_factory=dict)
    heard: dict[CoordinatorRequest, ConsumerGroupHeartbeatResponse] = field(default_factory=dict)

    def join(self, client: Client, **changes: Any) -> CoordinatorRequest:
        return self.beat(client, **client.joining() | changes)

    def report(self, client: Client) -> CoordinatorRequest:
        return self.beat(client, topic_partitions=self.bench.wire(client.assignment))

    def beat(self, client: Client, *, is_in_line: bool = True, version: int = 1, **changes: Any) -> CoordinatorRequest:
        fields = {"member_id": client.member_id, "member_epoch": client.epoch, "instance_id": client.instance_id}
        message = ConsumerGroupHeartbeatRequest(**{"group_id": GROUP, **fields, **changes})
        request = CoordinatorRequest(message, version, self.bench.wall_ms, "c", "/10.0.0.1", is_in_line)
        self.waiting[request] = client
        response = self.bench.ask(request)
        if response is not None:
            self._hear(request, response)
        return request

    def tick(self) -> None:
        """Run the next turn, and take the answers that it gives."""
        self.bench.tick()
        self.take_answers()

    def take_answers(self) -> None:
        answers, self.bench.answers = self.bench.answers, []
        for request, response in answers:
            encode(response, request.api_version)
            self._hear(request, response)

    def _hear(self, request: CoordinatorRequest, response: ConsumerGroupHeartbeatResponse) -> None:
        """Hand the answer to the client that waits for it; a second answer to the same request fails."""
        client = self.waiting.pop(request)
        self.heard[request] = response
        client.hear(response)

    def code(self, request: CoordinatorRequest) -> ErrorCode:
        return ErrorCode(self.heard[request].error_code)
