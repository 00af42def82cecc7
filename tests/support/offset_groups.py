"""A group coordinator with its log in a list: its records are replayed at once, as the driver does it."""

from collections.abc import Generator
from typing import Any

from tidelog.config import format_properties, load_broker_config
from tidelog.coordinator.group.coordinator import GroupCoordinator
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest, LogMessage
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from tidelog.model.decisions import Result
from tidelog.model.ids import Uuid
from tidelog.sim.entropy import SimEntropy

MINUTE = 60_000
NOON = 1_000_000_000_000  # the wall clock at the start
MAX_RECORD_BYTES = 1_048_588


def topic_id(name: str, made: int = 0) -> Uuid:
    """Return a topic id; `made` tells a topic from an earlier one of the same name."""
    return Uuid(name.encode().ljust(15, b"\x01")[:15] + bytes([made + 1]))


def settings(**properties: str) -> str:
    given = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@node:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093",
        **{name.replace("_", "."): value for name, value in properties.items()},
    }
    return format_properties(given)


class Coordinated:
    """A group coordinator, its clock and its cluster. `properties` are settings, with `_` for each `.`."""

    def __init__(self, topics: dict[str, int], max_record_bytes: int = MAX_RECORD_BYTES, **properties: str) -> None:
        self.config = load_broker_config(settings(**properties), "a test").config
        self.max_record_bytes = max_record_bytes
        self.draft = MetadataDraft(tracks_changes=True)
        self.now_ms = 0
        self.wall_ms = NOON
        self.log: list[LogMessage] = []
        self.versions: list[int] = []
        for name, partitions in topics.items():
            self._make_topic(name, partitions, topic_id(name))
        self.draft.take_changes()
        self.machine = self.fresh_machine()
        self.machine.activate(self.now_ms)

    # The machine

    @property
    def shard(self) -> GroupShard:
        return self.machine.shard

    def fresh_machine(self) -> GroupCoordinator:
        image = self.draft.freeze(0, 0, 0)
        return GroupCoordinator(GroupShard(self.config, SimEntropy(1), image, 0, self.max_record_bytes))

    def handle(self, message: Any, version: int = 0) -> Any:
        return self.carry_out(self.machine.handle(self.now_ms, CoordinatorRequest(message, version, self.wall_ms)))

    def carry_out(self, work: Result | Generator[None, None, Result]) -> Any:
        result = _finished(work)
        for message, version in result.records:
            self.log.append(message)
            self.versions.append(version)
            self.machine.replay(message)
        return result.response

    def pass_time(self, elapsed_ms: int) -> None:
        """Advance the clocks, and let the machine do what is due."""
        self.now_ms += elapsed_ms
        self.wall_ms += elapsed_ms
        for _ in range(100):
            deadline = self.machine.deadline
            if deadline is None or deadline > self.now_ms:
                return
            self.carry_out(self.machine.step(self.now_ms, self.wall_ms))
        raise AssertionError("the machine never comes to rest")

    def reload(self) -> None:
        """Replace the machine by a new one that is replayed from the log."""
        self.machine = self.replayed()
        self.machine.activate(self.now_ms)

    def replayed(self) -> GroupCoordinator:
        machine = self.fresh_machine()
        for message in self.log:
            machine.replay(message)
        return machine

    def validate_state(self) -> None:
        """Check that the machine's durable state is what its log says."""
        assert _durable(self.machine) == _durable(self.replayed()), "the live state is not what the log says"

    # The cluster

    def delete_topic(self, name: str) -> None:
        topic = self.draft.topics.by_name[name]
        self.draft.replay(RemoveTopicRecord(topic_id=topic.id))
        self._publish()

    def create_topic(self, name: str, partitions: int, made: int = 0) -> None:
        self._make_topic(name, partitions, topic_id(name, made))
        self._publish()

    def _publish(self) -> None:
        changes = self.draft.take_changes()
        self.machine.image_changed(self.now_ms, self.draft.freeze(0, 0, 0), changes)

    def _make_topic(self, name: str, partitions: int, made_id: Uuid) -> None:
        self.draft.replay(TopicRecord(name=name, topic_id=made_id))
        for partition in range(partitions):
            self.draft.replay(
                PartitionRecord(
                    partition_id=partition, topic_id=made_id, replicas=[1], isr=[1], leader=1, leader_epoch=0,
                    partition_epoch=0, directories=[Uuid(bytes(15) + b"\x07")],
                    removing_replicas=[], adding_replicas=[],
                )
            )  # fmt: skip


def _finished(work: Result | Generator[None, None, Result]) -> Result:
    if isinstance(work, Result):
        return work
    while True:
        try:
            next(work)
        except StopIteration as stop:
            result: Result = stop.value
            return result


def _durable(machine: GroupCoordinator) -> Any:
    groups = {group_id: group.type.value for group_id, group in machine.shard.groups.items()}
    return groups, machine.shard.offsets.printed(), machine.shard.offsets.count
