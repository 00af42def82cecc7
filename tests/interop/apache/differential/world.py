"""The world of a scenario: clients, topics and groups of a broker, and all the answers that it gave, in order."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from tests.interop.apache.differential.plain import Plain, plain
from tests.interop.apache.differential.requests import commit
from tests.support.blocking_connection import BlockingConnection

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

LEARNED_S = 1.0
# The first commit may overtake an earlier request, and the second that request's answer; the third can not.
ROUND_TRIPS = 3
GROUP_RESOURCE = 32
GROUP, TRANSACTION = 0, 1  # the key types of FindCoordinator
READY_S_MAX = 30


@dataclass
class Step:
    request: str
    answer: Plain


Transcript: TypeAlias = list[Step]


class Client:
    """A client that records its answers: `ask` sends and receives, or `send` and later `receive`."""

    def __init__(self, world: "World", client_id: str) -> None:
        self._world = world
        self._connection = BlockingConnection(world.address, client_id)
        self._sent: list[str] = []

    def ask(self, request: object, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def send(self, request: object, version: int) -> None:
        self._sent.append(f"{type(request).__name__} v{version}")
        self._connection.send(request, version)

    def wait(self, request: object, version: int) -> None:
        """Send a request that waits in the broker, and give it time to arrive before others are sent."""
        self.send(request, version)
        self._world.settle()

    def receive(self) -> Any:
        answer = self._connection.receive()
        self._world.told.append((self._sent.pop(0), answer))
        return answer

    def list_groups(self, request: ListGroupsRequest, version: int, prefix: str) -> None:
        """List the groups, and record only those of this scenario: other scenarios make groups at the same time."""
        self.send(request, version)
        answer = self._connection.receive()
        answer.groups = [group for group in answer.groups if f"{group.group_id} ".startswith(f"{prefix} ")]
        self._world.told.append((self._sent.pop(0), answer))

    @property
    def has_answer(self) -> bool:
        return self._connection.has_answer

    def quietly(self, request: object, version: int) -> Any:
        """Ask and return the answer without recording it, for answers that are not to be compared."""
        return self._connection.ask(request, version)

    def close(self) -> None:
        self._connection.close()


@dataclass
class World:
    address: str
    name: str
    names: dict[Any, str] = field(default_factory=dict)
    told: list[tuple[str, Any]] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)
    _settling: Client | None = None

    def client(self, client_id: str = "client") -> Client:
        self.clients.append(Client(self, client_id))
        return self.clients[-1]

    def settle(self) -> None:
        """Wait until an earlier request has taken effect. A request that waits in the broker gives no sign of having
        arrived, but a commit to the same coordinator queues behind it, since there is one thread for each stage
        (`SETTINGS`)."""
        if self._settling is None:
            self._settling = self.client("settling")
        for _ in range(ROUND_TRIPS):
            self._settling.quietly(commit("settling", {("orders", 0): 1}), 8)

    def until(self, look: Callable[[], bool]) -> None:
        self._until(lambda: look() or None)

    def call(self, random: str | None, name: str) -> None:
        """Have this random id written as `name` in the whole transcript."""
        if random:
            self.names.setdefault(random, name)

    def topic(self, name: str, partitions: int = 4) -> Uuid:
        """Create the topic, if it does not exist, and return its id once the broker knows it and leads its
        partitions."""
        client = self.client()
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
        made = client.quietly(CreateTopicsRequest(topics=[topic]), 7).topics[0]
        assert made.error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), made
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        found: Uuid = self._until(lambda: self._known(client, asked, partitions, made.topic_id))
        self.names[found] = name
        return found

    def delete_topic(self, name: str) -> None:
        state = DeleteTopicState(name=name, topic_id=ZERO_UUID)
        gone = self.client().quietly(DeleteTopicsRequest(topics=[state], timeout_ms=5_000), 6)
        assert gone.responses[0].error_code == ErrorCode.NONE, gone

    def configure_group(self, group_id: str, **configs: str) -> None:
        wanted = [
            AlterableConfig(name=name.replace("_", "."), config_operation=0, value=value)
            for name, value in configs.items()
        ]
        resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group_id, configs=wanted)
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        answer = self.client().quietly(request, 1).responses[0]
        assert answer.error_code == ErrorCode.NONE, answer
        time.sleep(LEARNED_S)  # the configs are stored first, and the coordinator learns of them later

    def note(self, step: Step) -> None:
        """Record a step that the scenario computed itself."""
        self.told.append((step.request, step))

    def transcript(self) -> Transcript:
        return [
            answer if isinstance(answer, Step) else Step(request, plain(answer, self.names))
            for request, answer in self.told
        ]

    def await_coordinator(self) -> None:
        client = self.client()
        for key_type in (GROUP, TRANSACTION):
            find = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["any"])
            self.until(partial(self._is_found, client, find))
        beat = HeartbeatRequest(group_id="any", generation_id=0, member_id="any")
        self._until(lambda: client.quietly(beat, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID or None)

    def close(self) -> None:
        for client in self.clients:
            client.close()

    @staticmethod
    def _is_found(client: Client, find: FindCoordinatorRequest) -> bool:
        return bool(client.quietly(find, 4).coordinators[0].error_code == ErrorCode.NONE)

    @staticmethod
    def _known(client: Client, asked: MetadataRequest, partitions: int, topic_id: Uuid) -> Uuid | None:
        """Return the topic's id once all partitions are led; None while the name still belongs to a topic that was just
        deleted."""
        topic = client.quietly(asked, 12).topics[0]
        led = [each for each in topic.partitions if each.error_code == ErrorCode.NONE]
        is_known = len(led) == partitions and topic_id in (ZERO_UUID, topic.topic_id)
        return topic.topic_id if is_known else None

    @staticmethod
    def _until(look: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + READY_S_MAX
        while (found := look()) is None:
            assert time.monotonic() < deadline, "the broker does not get there"
            time.sleep(0.05)
        return found


Scenario: TypeAlias = Callable[[World, int], None]


def scenario(*numbers: int, of: str = "version") -> Callable[[Scenario], Scenario]:
    """Register a function of a world and a number (a version, or a seed) as one scenario for each number."""

    def register(function: Scenario) -> Scenario:
        for number in numbers:
            SCENARIOS[f"{function.__name__} {of} {number}"] = (function, number)
        return function

    return register


SCENARIOS: dict[str, tuple[Scenario, int]] = {}
