"""Records as lines of input, for `tidelog produce`.

text   a line is a value; with --key-separator what stands before it is the key
hex    the same in hexadecimal digits, for bytes that are not text
json   an object a line: value, and where wanted key, headers, partition, timestamp; what `consume --json` writes
"""

import argparse
import base64
import binascii
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tidelog.cli.failing import WrongUsage
from tidelog.records.record import Header


class InputRecord(NamedTuple):
    """A record as the user wrote it. None: the command line, or the producer, decides."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[Header, ...] = ()
    partition: int | None = None
    timestamp: int | None = None


Parse = Callable[[bytes], InputRecord]


def parser_of(options: argparse.Namespace) -> Parse:
    """Return the function that parses a line; it raises ValueError for one that it cannot read."""
    separator: bytes | None = options.key_separator
    if options.format == "json":
        return parse_json
    decode = bytes.fromhex if options.format == "hex" else None
    return lambda line: _parse_line(line, separator, decode)


def _parse_line(line: bytes, separator: bytes | None, decode: Callable[[str], bytes] | None) -> InputRecord:
    key: bytes | None = None
    value = line
    if separator is not None:
        key, found, value = line.partition(separator)
        if not found:
            raise ValueError(f"no key separator {separator.decode(errors='backslashreplace')!r} in it")
    if decode is None:
        return InputRecord(value, key)
    try:
        return InputRecord(decode(value.decode("ascii")), None if key is None else decode(key.decode("ascii")))
    except ValueError:
        raise ValueError("not hexadecimal digits, two a byte") from None


def parse_json(line: bytes) -> InputRecord:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(found, dict) or "value" not in found:
        raise ValueError('not an object with a "value"')
    return InputRecord(
        value=_bytes(found["value"], "value"),
        key=_bytes(found.get("key"), "key"),
        headers=_headers(found.get("headers") or []),
        partition=_number(found.get("partition"), "partition"),
        timestamp=_number(found.get("timestamp"), "timestamp"),
    )


def _bytes(value: Any, name: str) -> bytes | None:
    """Return text as UTF-8, or the bytes of {"base64": ...}; other JSON is taken as its own text."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and set(value) == {"base64"}:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ValueError(f"the base64 of its {name} is not valid") from None
    return json.dumps(value, ensure_ascii=False).encode()


def _headers(found: Any) -> tuple[Header, ...]:
    pairs = list(found.items()) if isinstance(found, dict) else found
    if not isinstance(pairs, list) or not all(isinstance(each, (list, tuple)) and len(each) == 2 for each in pairs):
        raise ValueError('"headers" is not [["name", "value"], ...]')
    return tuple(Header(str(name), _bytes(value, f"header {name}")) for name, value in pairs)


def _number(value: Any, name: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError(f'"{name}" is not a number')


def separator(text: str) -> bytes:
    """Parse a separator, as an argument's type: any text, with a tab and such written with a backslash."""
    if not text:
        raise argparse.ArgumentTypeError("a separator of nothing parts nothing")
    return text.encode().decode("unicode_escape").encode("latin-1") if "\\" in text else text.encode()


def header(text: str) -> Header:
    """Parse NAME=VALUE, as an argument's type."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return Header(name, value.encode())


def parsed(parse: Parse, line: bytes, name: str, number: int) -> InputRecord:
    try:
        return parse(line)
    except ValueError as error:
        raise WrongUsage(f"{'standard input' if name == '-' else name}:{number}: {error}") from error
