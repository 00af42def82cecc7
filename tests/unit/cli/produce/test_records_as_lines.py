import argparse
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.cli.consume.record_output import fields, json_line, writer_of
from tidelog.cli.failing import WrongUsage
from tidelog.cli.produce.record_input import InputRecord, header, parse_json, parsed, parser_of, separator
from tidelog.client.record import ConsumerRecord
from tidelog.records.record import Header

RECORD = ConsumerRecord("orders", 2, 7, 1_777_636_800_000, b"k", b"v\x1b[31m", (Header("h", b"1"), Header("n", None)))


def parse(line: bytes, kind: str = "text", key_separator: bytes | None = None) -> InputRecord:
    return parser_of(argparse.Namespace(format=kind, key_separator=key_separator))(line)


def test_a_line_of_text_is_a_value() -> None:
    assert parse(b"a:b") == InputRecord(b"a:b")
    assert parse(b"") == InputRecord(b"")
    assert parse(b"\xff\x00") == InputRecord(b"\xff\x00")


def test_the_key_ends_at_the_first_separator() -> None:
    assert parse(b"k::v::w", key_separator=b"::") == InputRecord(b"v::w", b"k")
    with pytest.raises(ValueError, match="no key separator ':'"):
        parse(b"kv", key_separator=b":")


def test_hexadecimal() -> None:
    assert parse(b"00fF", "hex") == InputRecord(b"\x00\xff")
    assert parse(b"6b:76", "hex", b":") == InputRecord(b"v", b"k")
    for line in (b"0", b"0g", b"\xff"):
        with pytest.raises(ValueError, match="hexadecimal"):
            parse(line, "hex")


def test_json_may_say_everything() -> None:
    line = b'{"value": {"base64": "/w=="}, "key": "k", "headers": {"a": "b"}, "partition": 3, "timestamp": 5}'
    assert parse(line, "json") == InputRecord(b"\xff", b"k", (Header("a", b"b"),), 3, 5)
    assert parse(b'{"value": null}', "json") == InputRecord(None)
    assert parse(b'{"value": {"id": 1}}', "json") == InputRecord(b'{"id": 1}')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[1]", 'not an object with a "value"'),
        (b'{"key": "k"}', 'not an object with a "value"'),
        (b'{"value": {"base64": "?"}}', "base64 of its value"),
        (b'{"value": "v", "headers": "h"}', '"headers" is not'),
        (b'{"value": "v", "headers": [["a"]]}', '"headers" is not'),
        (b'{"value": "v", "partition": true}', '"partition" is not a number'),
        (b'{"value": "v", "timestamp": "now"}', '"timestamp" is not a number'),
    ],
)
def test_bad_json_is_refused_where_it_stands(line: bytes, reason: str) -> None:
    with pytest.raises(WrongUsage) as refused:
        parsed(parse_json, line, "orders.json", 12)
    assert str(refused.value).startswith("orders.json:12: ")
    assert reason in str(refused.value)


binary = st.one_of(st.none(), st.binary(max_size=8), st.text(max_size=4).map(str.encode))


@given(binary, binary, st.lists(st.tuples(st.text(max_size=3), binary), max_size=2), st.integers(0, 1 << 40))
@settings(max_examples=60, derandomize=True)
def test_json_out_is_json_in(
    key: bytes | None, value: bytes | None, pairs: list[tuple[str, bytes | None]], timestamp: int
) -> None:
    headers = tuple(Header(*pair) for pair in pairs)
    record = ConsumerRecord("t", 1, 9, timestamp, key, value, headers)
    assert parse_json(json_line(record)) == InputRecord(value, key, headers, 1, timestamp)


def test_separators_are_written_as_in_a_shell() -> None:
    assert separator(r"\t") == b"\t"
    assert separator("é") == "é".encode()
    with pytest.raises(argparse.ArgumentTypeError):
        separator("")


def test_a_header_has_a_name_and_a_value() -> None:
    assert header("a=b=c") == Header("a", b"b=c")
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=VALUE"):
        header("a")


def line_of(kind: str, *, shown: list[str], is_terminal: bool = False) -> bytes:
    return writer_of(kind, shown, b"\t", is_terminal=is_terminal)(RECORD)


def test_into_a_pipe_goes_what_was_written() -> None:
    assert line_of("text", shown=[]) == b"v\x1b[31m\n"


def test_a_record_does_not_colour_the_terminal() -> None:
    assert line_of("text", shown=[], is_terminal=True) == b"v\\x1b[31m\n"


def test_fields_before_the_value() -> None:
    shown = fields("topic,partition, offset,timestamp,key,headers")
    assert line_of("hex", shown=shown) == b"orders\t2\t7\t2026-05-01T12:00:00.000Z\t6b\th=31,n=null\t761b5b33316d\n"
    with pytest.raises(argparse.ArgumentTypeError, match=r"colour: not one of topic, partition"):
        fields("key,colour")


def test_json_has_everything() -> None:
    assert json.loads(line_of("json", shown=[])) == {
        "topic": "orders",
        "partition": 2,
        "offset": 7,
        "timestamp": 1_777_636_800_000,
        "key": "k",
        "value": "v\x1b[31m",
        "headers": [["h", "1"], ["n", None]],
    }
