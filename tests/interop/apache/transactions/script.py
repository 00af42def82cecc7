"""The same requests to Apache's broker and to ours, and their answers side by side: Apache's behaviour is the
specification, so every difference is an error of ours, or a deviation that is listed with its reason.

A scenario is a function that asks through a `Script`. The script sends each request as it is, at the version asked for,
and records the answer in plain values that two runs have in common: producer ids and topic ids are numbered by their
first appearance, of times it is noted only that there is one, error messages are not compared, and lists without an
order are sorted.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from pprint import pformat
from typing import Any

from tests.support.blocking_connection import BlockingConnection

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.messages.fetch import PartitionData
from tidelog.protocol.schema import schema_of
from tidelog.records.batch import RecordBatch, batches
from tidelog.records.control import read_marker

CLIENT_ID = "differential"
CLOSED = "the connection was closed"

# The fields by which the elements of an unordered list are sorted.
_KEYS = ("name", "topic", "transactional_id", "group_id", "producer_id", "partition_index", "index", "partition")
_ORDERED = ("aborted_transactions",)


@dataclass
class Step:
    label: str
    answer: Any

    def __str__(self) -> str:
        return f"{self.label}\n{pformat(self.answer, width=110, sort_dicts=False)}"


@dataclass
class Script:
    """The run of one scenario on one broker."""

    name: str
    wire: BlockingConnection
    steps: list[Step] = field(default_factory=list)
    _numbers: dict[tuple[str, Any], str] = field(default_factory=dict)

    def ask(self, request: object, version: int, why: str = "") -> Any:
        answer = self.wire.ask(request, version)
        api = type(request).__name__.removesuffix("Request")
        label = f"{len(self.steps) + 1}. {api} v{version}{': ' if why else ''}{why}"
        self.steps.append(Step(label, CLOSED if answer is None else self.plain(answer, version)))
        return answer

    def note(self, label: str, found: Any) -> None:
        self.steps.append(Step(f"{len(self.steps) + 1}. {label}", found))

    def ask_unrecorded(self, request: object, version: int) -> Any:
        return self.wire.ask(request, version)

    def plain(self, message: Any, version: int) -> Any:
        return self._plain("", message, version)

    def plain_producer(self, producer_id: int) -> str | int:
        return self._number("producer", producer_id) if producer_id >= 0 else producer_id

    def _plain(self, name: str, value: Any, version: int) -> Any:
        if is_dataclass(value):
            if isinstance(value, PartitionData):
                _cut_aborted(value)
            fields = [each.name for each in schema_of(type(value)).fields if version in each.versions]
            return {each: self._plain(each, getattr(value, each), version) for each in fields}
        if name == "records":
            return [self.batch(each) for each in batches(bytes(value or b""))]
        if isinstance(value, list):
            return [self._plain(name, each, version) for each in self._in_order(name, value)]
        return self._scalar(name, value)

    def _in_order(self, name: str, values: list[Any]) -> list[Any]:
        if name in _ORDERED or not values:
            return values
        if not is_dataclass(values[0]):
            return sorted(values)
        key = next((each for each in _KEYS if hasattr(values[0], each)), None)
        return values if key is None else sorted(values, key=lambda each: str(getattr(each, key)).rjust(20))

    def _scalar(self, name: str, value: Any) -> Any:
        if name.endswith("error_code"):
            return ErrorCode(value).name
        if name.endswith("producer_id"):
            return self.plain_producer(value)
        if name == "topic_id" and value != ZERO_UUID:
            return self._number("topic", bytes(value))
        if name.endswith(("time_ms", "timestamp", "timestamp_ms")) and name != "throttle_time_ms":
            return "a time" if value > 0 else value
        if name.endswith("error_message"):
            return "any text or none"
        if name == "metadata_hash":
            return "a hash, of topic ids too" if value else value
        if name in ("member_id", "leader") and value:
            return self._number("member", value)
        return value

    def _number(self, kind: str, value: Any) -> str:
        count = sum(1 for other, _ in self._numbers if other == kind)
        return self._numbers.setdefault((kind, value), f"{kind} {count + 1}")

    def batch(self, batch: RecordBatch) -> dict[str, Any]:
        header = batch.header
        records = list(batch.records())
        if header.is_control:
            marker = read_marker(records[0])
            content: Any = ("commit" if marker.committed else "abort", marker.coordinator_epoch)
        else:
            content = [each.value for each in records]
        return {
            "offsets": (header.base_offset, header.last_offset),
            "producer": (self.plain_producer(header.producer_id), header.producer_epoch, header.base_sequence),
            "is_transactional": header.is_transactional,
            "content": content,
        }


def _cut_aborted(data: PartitionData) -> None:
    """Drop aborted transactions that begin after the last record: Apache lists them up to the next entry of its offset
    index, ours up to the last record."""
    ends = [each.header.last_offset for each in batches(bytes(data.records or b""))]
    last_offset = max(ends, default=-1)
    if data.aborted_transactions is not None:
        data.aborted_transactions = [each for each in data.aborted_transactions if each.first_offset <= last_offset]


Scenario = Callable[[Script], None]


def differences(
    apache: Mapping[str, list[Step]], ours: Mapping[str, list[Step]], deviations: Iterable[tuple[str, str]]
) -> list[str]:
    """Return the differences as text for people. Each of `deviations` (scenario, beginning of a step's label) must
    still differ."""
    expected = list(deviations)
    found: list[str] = []
    seen: list[tuple[str, str]] = []
    for name, steps in apache.items():
        for theirs, mine in zip(steps, ours[name], strict=True):
            known = [each for each in expected if each[0] == name and theirs.label.startswith(each[1])]
            if str(theirs) != str(mine):
                seen += known
                found += [] if known else [_difference(name, theirs, mine)]
    stale = [f"{name}, {label}: listed as a deviation, and there is none" for name, label in expected]
    return found + [text for each, text in zip(expected, stale, strict=True) if each not in seen]


def _difference(name: str, theirs: Step, mine: Step) -> str:
    lines = difflib.unified_diff(str(theirs).splitlines(), str(mine).splitlines(), "Apache", "Tidelog", "", "", 30, "")
    return "\n".join([f"--- {name}", *list(lines)[3:]])
