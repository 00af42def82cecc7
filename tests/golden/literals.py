"""Messages as text, both ways: `group_id=g topics=[{name=orders partitions=[{partition_index=0 committed_offset=5}]}]`.

    null true false -7 word "any text"     what they look like; commas and line ends are spaces
    [ ... ]   { name=value ... }           lists and structs, of what the field's declaration says
    orders                                 also a topic's id, where one is expected
    subscription{ ... }  assignment{ ... } what classic consumers say to each other, where bytes are expected

Written out, a field that has its default, or nothing in it, is left out; an error code never is.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING
from typing import Any, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tidelog.protocol.schema import FieldSchema, Wire, schema_of
from tidelog.protocol.stored import decode_prefixed, encode_prefixed

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{}=]|[^\s\[\]{}=",]+')
CARRIED = {"subscription": ConsumerProtocolSubscription, "assignment": ConsumerProtocolAssignment}
CARRIED_VERSIONS = {"subscription": 3, "assignment": 0}
# Which of these structs a field of bytes holds, by the field's name.
CARRIED_IN = {
    "metadata": "subscription",
    "member_metadata": "subscription",
    "subscription": "subscription",
    "assignment": "assignment",
    "member_assignment": "assignment",
}
TEXT = re.compile(r"[A-Za-z_$][\w.$:/+-]*")
WALL_START_MS = 1_700_000_000_000
WALL_END_MS = WALL_START_MS + 10_000_000_000

TopicIds = dict[str, Uuid]


class Carried(NamedTuple):
    """A struct that is encoded into a field of bytes."""

    name: str
    fields: dict[str, Any]


def parse_fields(text: str) -> dict[str, Any]:
    tokens = TOKEN.findall(text)
    fields, rest = _fields(tokens, 0)
    assert rest == len(tokens), f"more than expected behind {tokens[rest - 3 : rest]}"
    return fields


def _fields(tokens: list[str], at: int) -> tuple[dict[str, Any], int]:
    fields: dict[str, Any] = {}
    while at < len(tokens) and tokens[at] != "}":
        assert tokens[at + 1] == "=", f"no = behind {tokens[at]}"
        name = json.loads(tokens[at]) if tokens[at][0] == '"' else tokens[at]
        fields[name], at = _value(tokens, at + 2)
    return fields, at


def _value(tokens: list[str], at: int) -> tuple[Any, int]:
    token = tokens[at]
    if token == "[":
        values = []
        at += 1
        while tokens[at] != "]":
            value, at = _value(tokens, at)
            values.append(value)
        return values, at + 1
    if token == "{":
        fields, at = _fields(tokens, at + 1)
        return fields, at + 1
    if token in CARRIED and tokens[at + 1 : at + 2] == ["{"]:
        fields, at = _fields(tokens, at + 2)
        return Carried(token, fields), at + 1
    return _scalar(token), at + 1


def _scalar(token: str) -> Any:
    if token[0] == '"':
        return json.loads(token)
    if re.fullmatch(r"-?\d+", token):
        return int(token)
    return {"null": None, "true": True, "false": False}.get(token, token)


def build(cls: type[Any], fields: dict[str, Any], topic_ids: TopicIds) -> Any:
    """Build a message. A field that is not given gets its default, or an empty value."""
    declared = schema_of(cls).fields
    unknown = fields.keys() - {each.name for each in declared}
    assert not unknown, f"{cls.__name__} has no {sorted(unknown)}"
    given = {
        each.name: _built(each, fields[each.name], topic_ids) if each.name in fields else _nothing(each)
        for each in declared
        if each.name in fields or each.default is MISSING
    }
    return cls(**given)


def _nothing(declared: FieldSchema) -> Any:
    if declared.nullable and not declared.is_array:
        return None
    if declared.is_array:
        return []
    empty: dict[Wire | None, Any] = {Wire.STRING: "", Wire.BYTES: b"", Wire.BOOL: False, Wire.UUID: ZERO_UUID}
    return empty.get(declared.wire, 0)


def _built(declared: FieldSchema, value: Any, topic_ids: TopicIds) -> Any:
    if value is None:
        return None
    if declared.is_array:
        return [_built_one(declared, each, topic_ids) for each in value]
    return _built_one(declared, value, topic_ids)


def _built_one(declared: FieldSchema, value: Any, topic_ids: TopicIds) -> Any:
    if declared.struct is not None:
        return build(declared.struct, value, topic_ids)
    if declared.wire is Wire.UUID:
        return topic_ids.get(value.strip("<>")) or Uuid(value.encode().ljust(16, b"?")[:16])
    if declared.wire is Wire.BYTES:
        return _bytes(value, topic_ids)
    if declared.wire is Wire.STRING:
        return str(value)
    if isinstance(value, str):
        return int(ErrorCode[value])
    return value


def _bytes(value: Any, topic_ids: TopicIds) -> bytes:
    if isinstance(value, Carried):
        message = build(CARRIED[value.name], value.fields, topic_ids)
        return encode_prefixed(message, CARRIED_VERSIONS[value.name])
    text: str = value
    return text.encode()


def write_fields(message: Any) -> str:
    """Return every field of a message as text, in the order of its declaration."""
    return " ".join(_written_fields(message))


def _written_fields(message: Any) -> Iterator[str]:
    for declared in schema_of(type(message)).fields:
        value = getattr(message, declared.name)
        if declared.name.endswith("error_code"):
            yield f"{declared.name}={ErrorCode(value).name}"
        elif declared.name != "throttle_time_ms" and not _is_nothing(declared, value):
            yield f"{declared.name}={_written(declared, value)}"


def _is_nothing(declared: FieldSchema, value: Any) -> bool:
    if declared.default is not MISSING:
        return bool(value == (declared.default() if declared.default_is_factory else declared.default))
    return value is None or value in ("", b"", [])


def _written(declared: FieldSchema, value: Any) -> str:
    write: Callable[[Any], str] = write_value
    if declared.struct is not None:
        write = lambda each: "{" + write_fields(each) + "}"  # noqa: E731
    elif declared.wire is Wire.BYTES:
        write = lambda each: write_bytes(bytes(each), CARRIED_IN.get(declared.name))  # noqa: E731
    if declared.is_array and value is not None:
        return "[" + " ".join(write(each) for each in value) + "]"
    return "null" if value is None else write(value)


def write_bytes(value: bytes, carried: str | None = None) -> str:
    for name in [carried] if carried else []:
        try:
            message, _version = decode_prefixed(CARRIED[name], value)
        except (ProtocolError, ValueError):
            continue
        return f"{name}{{{write_fields(message)}}}"
    return write_value(value.decode()) if value.isascii() and value.decode().isprintable() else f"0x{value.hex()}"


def write_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, ErrorCode):
        return value.name
    if isinstance(value, int):
        return f"T+{value - WALL_START_MS}" if WALL_START_MS <= value < WALL_END_MS else str(value)
    if isinstance(value, str):
        return value if TEXT.fullmatch(value) and value not in ("null", "true", "false") else json.dumps(value)
    if isinstance(value, (bytes, memoryview)):
        return bytes(value).hex()  # an id; the caller replaces it by its name
    return str(value)
