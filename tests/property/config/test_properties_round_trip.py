"""Any mapping reads back from its text as the same mapping, and reading never fails on any text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.config.properties import MalformedProperty, Property, format_properties, parse_properties, read_properties

# Characters with a meaning in the syntax are as likely as all others together.
CHARACTERS = st.one_of(st.sampled_from("=: \t\f\r\n\\#!u0"), st.characters(exclude_categories=["Cs"]))
TEXTS = st.text(CHARACTERS, max_size=12)


@settings(max_examples=200, derandomize=True)
@given(st.dictionaries(TEXTS, TEXTS, max_size=5))
def test_round_trip(entries: dict[str, str]) -> None:
    assert parse_properties(format_properties(entries)) == entries


@settings(max_examples=200, derandomize=True)
@given(st.text(CHARACTERS, max_size=40))
def test_any_text_is_read_in_order(text: str) -> None:
    found = list(read_properties(text))
    lines = [entry.line for entry in found]
    assert lines == sorted(set(lines))
    assert all(isinstance(entry, Property | MalformedProperty) for entry in found)
    assert all(1 <= line <= text.count("\n") + text.count("\r") + 1 for line in lines)
