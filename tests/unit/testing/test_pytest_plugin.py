"""Topic names that the plugin gives to tests: valid, and of one test only."""

import re

import pytest


@pytest.mark.parametrize("text", ["a/b c", "ü" * 300])
def test_a_prefix_is_a_legal_name_whatever_the_test_is_called(text: str, kafka_topic_prefix: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,100}", kafka_topic_prefix)
    assert kafka_topic_prefix.startswith("test_a_prefix_is_a_legal_name")
