"""Records as lines of output, for `tidelog consume`.

    text   the value, behind the fields that --show names
    hex    the same with key and value in hexadecimal digits
    json   an object a line, with everything; bytes that are not UTF-8 as {"base64": ...}; `produce` reads it back

A record may hold anything, and must not move the cursor of whoever looks at it: on a terminal, control characters are
escaped. A pipe or a file gets what was written, byte for byte.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Final

from tidelog.cli.arguments.offset_arguments import shown_time
from tidelog.cli.output.plain import to_plain
from tidelog.client.record import ConsumerRecord

Line = Callable[[ConsumerRecord], bytes]
NULL_TEXT: Final = b"null"


def writer_of(kind: str, fields: Sequence[str], separator: bytes, *, is_terminal: bool) -> Line:
    """Return the function that makes a record its line, with the end of line."""
    if kind == "json":
        return json_line
    form = _hex if kind == "hex" else _shown if is_terminal else _raw
    forms = [_FIELDS[name] for name in fields]

    def line(record: ConsumerRecord) -> bytes:
        parts = [field(record, form) for field in forms]
        return separator.join([*parts, form(record.value)]) + b"\n"

    return line


def json_line(record: ConsumerRecord) -> bytes:
    plain = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": to_plain(record.key),
        "value": to_plain(record.value),
        "headers": [[_header_name(key), to_plain(value)] for key, value in record.headers],
    }
    return json.dumps(plain).encode() + b"\n"


def _header_name(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


Form = Callable[[bytes | None], bytes]


def _raw(value: bytes | None) -> bytes:
    return NULL_TEXT if value is None else value


def _hex(value: bytes | None) -> bytes:
    return NULL_TEXT if value is None else value.hex().encode()


def _shown(value: bytes | None) -> bytes:
    if value is None:
        return NULL_TEXT
    text = value.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text.encode()
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text).encode()


def _headers(record: ConsumerRecord, form: Form) -> bytes:
    return b",".join(_header_name(key).encode() + b"=" + form(value) for key, value in record.headers) or b"-"


_FIELDS: Final[dict[str, Callable[[ConsumerRecord, Form], bytes]]] = {
    "topic": lambda record, _form: record.topic.encode(),
    "partition": lambda record, _form: str(record.partition).encode(),
    "offset": lambda record, _form: str(record.offset).encode(),
    "timestamp": lambda record, _form: shown_time(record.timestamp).encode() if record.timestamp >= 0 else b"-",
    "key": lambda record, form: form(record.key),
    "headers": _headers,
}
FIELDS: Final = tuple(_FIELDS)


def fields(text: str) -> list[str]:
    """Parse names with commas between, as an argument's type."""
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in _FIELDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(FIELDS)}")
    return names
