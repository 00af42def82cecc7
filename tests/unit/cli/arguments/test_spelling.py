"""The name that a user probably meant by a misspelt one."""

import pytest

from tidelog.cli.arguments.spelling import did_you_mean, nearest

TOPICS = ["orders", "orders-eu", "payments", "Clicks"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("ordres", ["orders", "orders-eu"]),
        ("order", ["orders", "orders-eu"]),
        ("paymnets", ["payments"]),
        ("clicks", ["Clicks"]),
        ("orders-eu", ["orders-eu", "orders"]),
        ("zzz", []),
        ("", []),
    ],
)
def test_the_most_alike_comes_first(word: str, found: list[str]) -> None:
    assert nearest(word, TOPICS) == found


def test_in_words() -> None:
    assert did_you_mean("paymnets", TOPICS) == "; did you mean payments?"
    assert did_you_mean("order", TOPICS) == "; did you mean orders or orders-eu?"
    assert did_you_mean("aa", ["aab", "aac", "aad", "aae"]) == "; did you mean aab, aac or aad?"
    assert did_you_mean("zzz", TOPICS) == ""
