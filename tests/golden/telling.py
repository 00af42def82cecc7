"""The outcome of an event as a scenario tells it: records, effects, the printed state."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from tests.golden.literals import CARRIED_IN, write_bytes, write_fields, write_value

from tidelog.coordinator.group.consumer.member import MemberState
from tidelog.coordinator.group.records.consumer import ConsumerGroupCurrentMemberAssignmentValue
from tidelog.coordinator.requests import TransactionalKeyValue, TransactionMarker
from tidelog.coordinator.transaction.states import STATE_NAMES, TransactionState

OUTPUT = "    "
WIDTH = 118
STATUS = re.compile(r"transaction_status=(\d)")
HEX = re.compile(r"([0-9a-f]{2})+")


def record_text(message: Any, version: int) -> str:
    if isinstance(message, TransactionMarker):
        outcome = "commit" if message.committed else "abort"
        return f"marker {outcome} producer {message.producer_id}/{message.producer_epoch}"
    key, value = message.key, message.value
    told = "gone" if value is None else f"v{version} {STATUS.sub(_status, write_fields(value))}"
    if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
        told = told.replace(f" state={value.state}", f" state={MemberState(value.state).name}")
    name = type(key).__name__.removesuffix("Key")
    inside = ""
    if isinstance(message, TransactionalKeyValue):
        inside = f"in transaction of {message.producer_id}/{message.producer_epoch}: "
    return f"{inside}{name} {write_fields(key)} = {told}"


def _status(found: re.Match[str]) -> str:
    return f"transaction_status={STATE_NAMES[TransactionState(int(found[1]))]}"


def effect_text(effect: Any) -> str:
    fields = effect._asdict()
    fields["partitions"] = "[" + " ".join(map(str, effect.partitions)) + "]"
    return f"{type(effect).__name__} " + " ".join(f"{name}={_plain(value)}" for name, value in fields.items())


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and value.startswith("[") else write_value(value)


def tree(value: Any, key: str = "", indent: int = 0) -> Iterator[str]:
    """Yield the lines of a nested value; a plain value takes one line."""
    space = "  " * indent
    if isinstance(value, dict) and value:
        if key:
            yield f"{space}{key}"
        for name, each in value.items():
            yield from tree(each, str(name), indent + bool(key))
    elif isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
        yield f"{space}{key}"
        for each in value:
            yield from tree(each, "-", indent + 1)
    else:
        yield f"{space}{key} = {_leaf(value, key)}"


def _leaf(value: Any, key: str = "") -> str:
    if isinstance(value, (list, tuple)):
        return "[" + " ".join(_leaf(each) for each in value) + "]"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, str) and (key in CARRIED_IN or value.startswith("00")) and HEX.fullmatch(value):
        value = bytes.fromhex(value)
    if isinstance(value, (bytes, memoryview)):
        return write_bytes(bytes(value), CARRIED_IN.get(key, "subscription"))
    return write_value(value)


def wrapped_lines(line: str) -> list[str]:
    if line.startswith(":"):
        return [OUTPUT + line]
    return textwrap.wrap(
        line,
        WIDTH,
        initial_indent=OUTPUT,
        subsequent_indent=OUTPUT + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
