"""Subscriptions by regular expression: RE2's language, whole names."""

import subprocess
import sys

import pytest

from tidelog.coordinator.group.subscription_regex import InvalidRegex, compile_regex, matching_topics

NAMES = ["foo", "foobar", "barfoo", "Foo", "foo.1", "__consumer_offsets"]


@pytest.mark.parametrize(
    ("regex", "matching"),
    [
        ("foo", ["foo"]),
        ("foo|foobar", ["foo", "foobar"]),
        ("foo.*", ["foo", "foobar", "foo.1"]),
        ("^foo$", ["foo"]),
        ("(?i)foo", ["foo", "Foo"]),
        (r"foo\.\d", ["foo.1"]),
        (r"\Qfoo.1\E", ["foo.1"]),
        ("", []),
        ("_.*", ["__consumer_offsets"]),
        (".*", NAMES),
    ],
)
def test_the_whole_name_matches(regex: str, matching: list[str]) -> None:
    assert matching_topics(NAMES, compile_regex(regex)) == matching


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("foo(", "missing )"),
        ("(?<!a)b", "invalid perl operator"),  # PCRE's, not RE2's
        (r"(a)\1", "invalid escape sequence"),
        ("a{1001}", "invalid repetition size"),
        ("(x|yy)*z" * 20_000, "pattern too large"),
        ("\ud800", "not UTF-8"),
    ],
)
def test_what_is_not_re2_is_refused_with_the_reason(regex: str, reason: str) -> None:
    with pytest.raises(InvalidRegex, match=reason.replace(")", r"\)")):
        compile_regex(regex)


def test_a_hostile_expression_takes_linear_time() -> None:
    assert matching_topics(["a" * 249], compile_regex("(a*)*" * 20 + "b")) == []


def test_the_library_is_loaded_on_first_use_only() -> None:
    code = (
        "import sys, tidelog.coordinator.group.subscription_regex as subject; assert 're2' not in sys.modules;"
        "subject.compile_regex('a'); assert 're2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
