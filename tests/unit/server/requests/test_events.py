"""Log lines: their fields, how many there are, and what they never contain."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from tests.unit.server.requests.test_first_contact import create, produce

from tidelog.io.log_format import JsonFormatter, TextFormatter
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.network import Accepted, Address, ConnectionId
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.server.events import LINES_MAX, WINDOW_MS, Events
from tidelog.server.node.node import Phase
from tidelog.sim.clock import SimClock
from tidelog.sim.node_world import NodeWorld

PLACE = TopicPartition("orders", 7)
SECRET = "hunter2-and-then-some"
BROKER_RESOURCE = 4


class Lines:
    """Everything that is logged, as JSON and as text."""

    def __init__(self) -> None:
        self.json, self.text = io.StringIO(), io.StringIO()
        self.handlers = [logging.StreamHandler(self.json), logging.StreamHandler(self.text)]
        self.handlers[0].setFormatter(JsonFormatter())
        self.handlers[1].setFormatter(TextFormatter())

    @property
    def entries(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.json.getvalue().splitlines()]

    def of_phase(self, phase: str) -> dict[str, object]:
        (found,) = [entry for entry in self.entries if entry.get("phase") == phase]
        return found


@pytest.fixture
def lines() -> Iterator[Lines]:
    lines = Lines()
    root = logging.getLogger("tidelog")
    before = root.level
    root.setLevel(logging.DEBUG)
    for handler in lines.handlers:
        root.addHandler(handler)
    yield lines
    root.setLevel(before)
    for handler in lines.handlers:
        root.removeHandler(handler)


def refuse(events: Events, count: int) -> None:
    accepted = Accepted(ConnectionId(1), "PLAINTEXT", Address("10.0.0.9", 5), Address("10.0.0.1", 9092))
    for _ in range(count):
        events.connection_refused(accepted, "max.connections")


def test_a_line_about_a_partition_names_it_in_its_fields(lines: Lines) -> None:
    events = Events(SimClock())
    events.partition_refused(PLACE, ErrorCode.KAFKA_STORAGE_ERROR)
    events.stray(PLACE, "/data/orders-7")
    events.moved(PLACE, "/other", None)
    events.moved(PLACE, "/other", "the disk is full")
    assert [(entry["topic"], entry["partition"]) for entry in lines.entries] == [("orders", 7)] * 4
    assert [entry["level"] for entry in lines.entries] == ["ERROR", "WARNING", "INFO", "WARNING"]
    assert "orders-7" in lines.text.getvalue()


def test_a_flood_is_cut_and_summed_up_even_when_it_ends(lines: Lines) -> None:
    clock = SimClock()
    events = Events(clock)
    refuse(events, LINES_MAX + 5)
    assert len(lines.entries) == LINES_MAX
    assert events.suppressed_total == 5
    clock.advance(WINDOW_MS)
    events.settle(clock.monotonic_ms())
    events.settle(clock.monotonic_ms())
    assert len(lines.entries) == LINES_MAX + 1
    assert lines.entries[-1]["suppressed"] == 5
    assert lines.entries[-1]["kind"] == "connection refused"


def test_a_flood_that_goes_on_is_summed_up_once_a_window(lines: Lines) -> None:
    clock = SimClock()
    events = Events(clock)
    for _ in range(3):
        refuse(events, LINES_MAX + 1)
        clock.advance(WINDOW_MS)
    assert [entry["suppressed"] for entry in lines.entries if "suppressed" in entry] == [1, 1]


def test_one_kind_does_not_hide_another(lines: Lines) -> None:
    events = Events(SimClock())
    refuse(events, LINES_MAX + 5)
    events.registration_refused("DUPLICATE_BROKER_REGISTRATION")
    assert lines.entries[-1]["kind"] == "registration"


def test_the_life_of_a_node_is_a_line_for_each_phase(lines: Lines) -> None:
    world = NodeWorld(seed=4)
    create(world.client(), "kept")
    node = world.running
    node.begin_stop()
    world.wait_for(lambda: node.phase is Phase.STOPPED or None)
    start, serving = lines.of_phase("starting"), lines.of_phase("serving")
    assert (start["node_id"], start["log_dirs"]) == (1, ["/disk/a"])
    assert serving["cluster_id"] == start["cluster_id"] == world.running.files.cluster_id
    assert serving["listeners"] == {"PLAINTEXT": "node:9092", "CONTROLLER": "node:9093"}
    assert serving["told"] == "the address by which they connect"
    assert lines.of_phase("stopping")["connections"] == 1
    assert lines.of_phase("stopped")["level"] == "INFO"
    world.kill()
    world.start()
    assert [entry["logs"] for entry in lines.entries if entry.get("phase") == "loaded"] == [0, 1]


def test_requests_are_told_to_who_debugs(lines: Lines) -> None:
    world = NodeWorld(seed=4)
    client = world.client()
    create(client, "told")
    produce(client, "told", b"x")
    told = [entry for entry in lines.entries if "api_key" in entry]
    assert [(entry["api_key"], entry["client_id"], entry["error"]) for entry in told] == [
        (19, "sim", "NONE"),
        (0, "sim", "NONE"),
    ]


def test_no_line_has_a_password(lines: Lines) -> None:
    """The passwords are in the file, in a change that is accepted, and in one that is refused."""
    world = NodeWorld(seed=4, overrides={"my.own.password": SECRET})
    client = world.client()
    for name, value in (("listener.name.plaintext.ssl.key.password", SECRET), ("log.cleaner.threads", f"-{SECRET}")):
        config = AlterableConfig(name=name, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name="1", configs=[config])
        client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    world.run(100)
    assert any("api_key" in entry for entry in lines.entries), "everything was listened to"
    assert SECRET not in lines.json.getvalue() + lines.text.getvalue()
