"""Java's properties syntax. The expectations were checked against java.util.Properties."""

import pytest

from tidelog.config.properties import MalformedProperty, Property, format_properties, parse_properties, read_properties


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("a=b", {"a": "b"}),
        ("a = b ", {"a": "b "}),
        ("a:b", {"a": "b"}),
        ("a b=c", {"a": "b=c"}),
        ("a\t\f:  b", {"a": "b"}),
        ("a", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("  # no\n\t! no\n\n a=b", {"a": "b"}),
        ("a=b # kept", {"a": "b # kept"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("a=x\\\n   y", {"a": "xy"}),
        ("a=x\\\r\n# y", {"a": "x# y"}),
        ("a=x\\\\\nb=y", {"a": "x\\", "b": "y"}),
        ("a=x\\\\\\\nb", {"a": "x\\b"}),
        ("# c\\\na=b", {"a": "b"}),
        ("a=x\\\n\nb=y", {"a": "x", "b": "y"}),
        ("\\\n# c\na=b", {"a": "b"}),
        ("a=b\\", {"a": "b"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        (r"a=\t\n\r\f\q\"", {"a": '\t\n\r\fq"'}),
        (r"caf\u00e9=\u00C9", {"café": "É"}),
        (r"a=\ud83d\ude00", {"a": "😀"}),
        (r"a=\\u00", {"a": "\\u00"}),
        ("", {}),
    ],
)
def test_syntax(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries


def test_an_entry_knows_the_line_that_it_begins_on() -> None:
    text = "# one\n\na=x\\\n  y\\\n  z\r\nb=2\na=3"
    assert list(read_properties(text)) == [Property("a", "xyz", 3), Property("b", "2", 6), Property("a", "3", 7)]


@pytest.mark.parametrize("text", [r"a=\u12", r"a=\u", r"a\u00g0=b", r"a=\\\u1"])
def test_a_malformed_escape_is_reported_and_the_rest_is_read(text: str) -> None:
    found = list(read_properties(f"{text}\nb=1"))
    assert isinstance(found[0], MalformedProperty)
    assert found[1] == Property("b", "1", 2)
    with pytest.raises(ValueError, match="line 1: malformed"):
        parse_properties(text)


def test_what_is_written_is_plain_ascii_and_reads_back() -> None:
    entries = {" k=:#! ": "  v = # ", "é😀": "tab\tline\nback\\slash", "": ""}
    text = format_properties(entries)
    assert text.isascii()
    assert text.count("\n") == len(entries)
    assert parse_properties(text) == entries
