"""A scenario: a list of events, and below each event its outcome. README.md tells how it is written.

The whole file is made anew from its events and compared. With TIDELOG_UPDATE_GOLDEN=1 it is written back instead: then
read the difference as you would read code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.golden.literals import WALL_START_MS, TopicIds, build, parse_fields, write_fields
from tests.golden.telling import OUTPUT, effect_text, record_text, tree, wrapped_lines
from tests.golden.world import World

from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue, TransactionMarker
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.coordinator.transaction.requests import MarkersWritten
from tidelog.coordinator.transaction.states import STATES_BY_NAME
from tidelog.metadata.configs import ResourceType
from tidelog.metadata.records.cluster import ConfigRecord
from tidelog.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from tidelog.model.decisions import Record
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition, Uuid, format_uuid
from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.messages.registry import APIS, REQUESTS

UNITS_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
API_KEYS = {api.name: key for key, api in APIS.items()}
LOGGED = [*GROUP_RECORDS.values(), *TRANSACTION_RECORDS.values()]
INTERNAL = {"MarkersWritten": MarkersWritten, "TransactionMarker": TransactionMarker}


@dataclass
class Asked:
    """One request of a client, and the answer once it has come."""

    client: str
    api: str
    version: int
    heard: list[Any] = field(default_factory=list)


class Run:
    """A run of one scenario: it carries out events, and tells the outcome of each."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._settings: dict[str, str] = {}
        self._transaction_version = 2
        self._world: World | None = None
        self._names: dict[str, str] = {}  # what each random id is called in the text
        self._topic_ids: TopicIds = {}
        self._topics_made = 0
        self._asked: list[Asked] = []
        self._loaded: list[Record] = []
        self._records_seen = 0

    @property
    def world(self) -> World:
        if self._world is None:
            self._world = World(self._kind, self._settings, self._transaction_version, self._loaded)
            self._records_seen = len(self._loaded)
        return self._world

    def event(self, line: str) -> list[str]:
        word, _, rest = line.partition(" ")
        if word == ">":
            self._ask(rest)
            return self._came()
        carry_out = {
            "config": self._config,
            "group-config": self._group_config,
            "transaction-version": self._set_transaction_version,
            "next-producer-id": self._set_next_producer_id,
            "topic": self._topic,
            "delete-topic": self._delete_topic,
            "log": self._log,
            "hold": self._hold,
            "release": self._release,
            "fail": self._fail,
            "reload": self._reload,
            "loaded": self._loaded_all,
        }
        if word == "at":
            return list(self._until(rest))
        if word == "state":
            return self.state()
        assert word in carry_out, f"what is {word}?"
        carry_out[word](rest.strip())
        return self._came() if self._world is not None else []

    # Setup, before the first event

    def _config(self, rest: str) -> None:
        assert self._world is None, "settings come first"
        name, _, value = rest.partition("=")
        self._settings[name.strip()] = value.strip()

    def _set_transaction_version(self, rest: str) -> None:
        self._transaction_version = int(rest)
        if self._world is not None:
            self._world.transaction_version = int(rest)

    def _set_next_producer_id(self, rest: str) -> None:
        self.world.next_producer_id = int(rest)

    # Events

    def _group_config(self, rest: str) -> None:
        group_id, _, setting = rest.partition(" ")
        name, _, value = setting.partition("=")
        self.world.replay_metadata(
            ConfigRecord(resource_type=ResourceType.GROUP.value, resource_name=group_id, name=name, value=value)
        )

    def _topic(self, rest: str) -> None:
        name, partitions = rest.split()
        records: list[Any] = []
        if name not in self._topic_ids:
            self._topics_made += 1
            self._topic_ids[name] = Uuid(bytes([0x70] * 15 + [self._topics_made]))
            self._names[format_uuid(self._topic_ids[name])] = self._names[self._topic_ids[name].hex()] = f"<{name}>"
            records.append(TopicRecord(name=name, topic_id=self._topic_ids[name]))
        topic_id = self._topic_ids[name]
        records += [_partition_record(topic_id, partition) for partition in range(int(partitions))]
        self.world.replay_metadata(*records)

    def _delete_topic(self, name: str) -> None:
        self.world.replay_metadata(RemoveTopicRecord(topic_id=self._topic_ids.pop(name)))

    def _hold(self, _rest: str) -> None:
        self.world.log.is_held = True

    def _release(self, _rest: str) -> None:
        self.world.log.is_held = False
        self.world.turn()

    def _fail(self, _rest: str) -> None:
        self.world.log.fails = True

    def _reload(self, rest: str) -> None:
        self.world.is_loading = rest == "slowly"
        self.world.reload()
        self._records_seen = min(self._records_seen, len(self.world.log.written))

    def _loaded_all(self, _rest: str) -> None:
        self.world.is_loading = False
        self.world.turn()

    def _until(self, rest: str) -> Iterator[str]:
        """Move the clock forward, one timer at a time; yield the outcome of each timer at its own moment."""
        number, _, unit = rest.partition(" ")
        until_ms = int(number) * UNITS_MS[unit.strip() or "ms"]
        assert until_ms >= self.world.now_ms, "time does not go back"
        while (deadline := self.world.next_deadline(until_ms)) is not None:
            self.world.now_ms = max(self.world.now_ms, deadline)
            self.world.turn()
            came = self._came()
            if came:
                yield f"@ {self.world.now_ms}"
                yield from came
        self.world.now_ms = until_ms

    def _ask(self, text: str) -> None:
        client, api, *rest = text.split(None, 2)
        members = {name: value for value, name in self._names.items()}
        rest = [re.sub(r"\$\w+", lambda found: members.get(found[0], found[0]), each) for each in rest]
        asked = Asked(client, api, 0)
        if api in INTERNAL:
            message = _internal(api, parse_fields("".join(rest)))
        else:
            version, _, fields = "".join(rest).partition(" ")
            asked.version = int(version.removeprefix("v"))
            cls = REQUESTS[API_KEYS[api]]
            sent = build(cls, parse_fields(fields), self._topic_ids)
            message = decode_exact(cls, encode(sent, asked.version), asked.version)
        self._asked.append(asked)
        request = CoordinatorRequest(message, asked.version, self.world.wall_ms, client, "/127.0.0.1")
        self.world.submit(request, asked.heard)

    # Outcomes

    def _came(self) -> list[str]:
        log = self.world.log
        lines = [
            f"+ {record_text(log.through_bytes(message, version), version)}"
            for message, version in log.written[self._records_seen :]
        ]
        self._records_seen = len(log.written)
        for asked in [each for each in self._asked if each.heard]:
            self._asked.remove(asked)
            lines += self._answered(asked, *asked.heard)
        effects, self.world.effects[:] = list(self.world.effects), []
        lines += [f"! {effect_text(each)}" for each in effects]
        if self.world.driver.is_idle:
            lines.append("! the coordinator is gone")
        return [self._named(line) for line in lines]

    def _log(self, rest: str) -> None:
        """Add a record that was in the log before this coordinator loaded it, in the words in which a scenario tells
        records."""
        assert self._world is None, "what is in the log already comes first"
        name, _, parts = rest.partition(" ")
        key, _, value = parts.partition(" = ")
        types = next(each for each in LOGGED if each.key.__name__ == f"{name}Key")
        version, _, fields = value.partition(" ")
        message = KeyValue(self._parsed(types.key, key), None if value == "gone" else self._parsed(types.value, fields))
        self._loaded.append((message, 0 if value == "gone" else int(version.removeprefix("v"))))

    def _parsed(self, cls: type[Any], fields: str) -> Any:
        values = parse_fields(re.sub(r"T\+(\d+)", lambda found: str(WALL_START_MS + int(found[1])), fields))
        if isinstance(values.get("transaction_status"), str):
            values["transaction_status"] = STATES_BY_NAME[values["transaction_status"]].value
        return build(cls, values, self._topic_ids)

    def _answered(self, asked: Asked, response: Any) -> list[str]:
        head = f"< {asked.client} {asked.api}"
        if isinstance(response, ErrorCode):
            return [f"{head} refused: {response.name}"]
        if isinstance(response, ApiError):
            return [f"{head} refused: {response.code.name}"]
        if response is None:
            return [f"{head} done"]
        seen = decode_exact(type(response), encode(response, asked.version), asked.version)
        self._name_member(asked.client, getattr(seen, "member_id", None))
        return [f"{head} {write_fields(seen)}"]

    def _name_member(self, client: str, member_id: str | None) -> None:
        """Name the member id that a client was given after the client; a second id of the same client gets a number."""
        if not member_id or member_id in self._names or len(member_id) < 20:
            return
        before = sum(name.rstrip("0123456789") == f"${client}" for name in self._names.values())
        self._names[member_id] = f"${client}{before + 1 if before else ''}"

    def _named(self, line: str) -> str:
        for value, name in self._names.items():
            line = line.replace(value, name)
        return line

    def state(self) -> list[str]:
        self.check_replay()
        return [self._named(f": {line}") for line in tree(self.world.machine.printed())]

    def check_replay(self) -> None:
        """Check that replaying the records alone gives the same durable state."""
        world = self.world
        assert world.log.high_watermark == world.log.end_offset, "a scenario ends with everything committed"
        assert world.durable(world.replayed()) == world.durable(world.machine), (
            "the live state is not what the log says"
        )


def _partition_record(topic_id: Uuid, partition: int) -> PartitionRecord:
    return PartitionRecord(
        topic_id=topic_id,
        partition_id=partition,
        replicas=[1],
        isr=[1],
        removing_replicas=[],
        adding_replicas=[],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[Uuid(b"d" * 16)],
    )


def _internal(api: str, fields: dict[str, Any]) -> Any:
    if api == "MarkersWritten":
        fields["outcomes"] = {
            TopicPartition(name.rpartition("-")[0], int(name.rpartition("-")[2])): ErrorCode[code]
            for name, code in fields["outcomes"].items()
        }
    return INTERNAL[api](**fields)


def events_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield each line that is not output: as it stands, and joined with the lines that continue it."""
    pending: list[str] = []
    for line in text.splitlines():
        if line.startswith(OUTPUT) and not pending:
            continue
        pending.append(line)
        if line.endswith("\\"):
            continue
        joined = " ".join(each.removesuffix("\\").strip() for each in pending)
        yield "\n".join(pending), joined
        pending = []


def rewritten(path: Path) -> str:
    """Return the file as this code would write it. AssertionError when the records do not replay to the same state."""
    run = Run(path.parent.name)
    lines: list[str] = []
    for as_it_stands, event in events_of(path.read_text()):
        lines.append(as_it_stands)
        if event and not event.startswith("#"):
            lines += [wrapped for line in run.event(event) for wrapped in wrapped_lines(line)]
    run.check_replay()
    return "\n".join(lines) + "\n"
