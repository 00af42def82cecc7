"""Offsets as JSON, and what a user may say instead of offsets."""

import json
import pickle

import pytest

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.offsets import (
    ByPartition,
    ByTime,
    from_json,
    parse_offsets,
    parse_places,
    parse_timestamps,
    to_json,
)
from tidelog.model.ids import TopicPartition

A0, A1, A10, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("a", 10), TopicPartition("b", 0)


def test_json_is_the_connectors_and_comes_back() -> None:
    offsets = {B0: 7, A10: 3, A0: 0, A1: 9_000_000_000_000}
    assert to_json(offsets) == {"a": {"0": 0, "1": 9_000_000_000_000, "10": 3}, "b": {"0": 7}}
    assert from_json(json.loads(json.dumps(to_json(offsets)))) == offsets
    assert to_json({}) == {}


def test_equal_offsets_are_equal_text_whatever_their_order() -> None:
    there, back = {A0: 1, A1: 2, B0: 3}, {B0: 3, A1: 2, A0: 1}
    assert json.dumps(to_json(there)) == json.dumps(to_json(back))


def test_a_users_offsets() -> None:
    assert parse_offsets("startingOffsets", ' {"a": {"0": 23, "1": -1}, "b": {"0": -2}}') == {A0: 23, A1: -1, B0: -2}
    assert parse_timestamps("startingOffsetsByTimestamp", '{"a": {"0": 1700000000000}}') == {A0: 1_700_000_000_000}
    assert parse_places("assign", '{"b": [0], "a": [1, 0, 1]}') == [A0, A1, B0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("earlist", "not JSON"),
        ('{"a": {"0": 1}', "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"a": 5}', "a has 5"),
        ('{"a": {"x": 5}}', 'no partition "x"'),
        ('{"a": {"-1": 5}}', 'no partition "-1"'),
        ('{"a": {"2147483648": 5}}', 'no partition "2147483648"'),
        ('{"a": {"0": -3}}', "a-0 has -3"),
        ('{"a": {"0": 1.5}}', "a-0 has 1.5"),
        ('{"a": {"0": "5"}}', 'a-0 has "5"'),
        ('{"a": {"0": true}}', "a-0 has true"),
        ('{"a": {"0": 9223372036854775808}}', "a-0 has 9223372036854775808"),
        ('{"a": {"0": 1, "0": 2}}', "twice"),
        ('{"a": {"0": 1}, "a": {"1": 2}}', "twice"),
    ],
)
def test_wrong_offsets_name_the_option_and_the_place(text: str, problem: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_offsets("startingOffsets", text)
    assert str(caught.value).startswith("startingOffsets: ")
    assert problem in str(caught.value)
    assert '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}' in str(caught.value)


@pytest.mark.parametrize(
    "text", ['{"a": {"0": 1}}', '{"a": ["0"]}', '{"a": [-1]}', '{"a": [true]}', "{}", "a", '{"a":[]}']
)
def test_wrong_places(text: str) -> None:
    with pytest.raises(OptionError, match=r"^assign: "):
        parse_places("assign", text)


def test_times_are_not_before_1970() -> None:
    with pytest.raises(OptionError, match="a-0 has -1"):
        parse_timestamps("startingOffsetsByTimestamp", '{"a": {"0": -1}}')


@pytest.mark.parametrize("spec", [ByPartition({A0: 5, A1: -1}, "o"), ByTime({A0: 5, A1: 6}, "error", "o")])
def test_all_partitions_must_be_named_and_no_others(spec: ByPartition | ByTime) -> None:
    assert list(spec.of([A0, A1])) == [A0, A1]
    with pytest.raises(OptionError, match="o: says nothing about a-10, b-0"):
        spec.of([A0, A1, B0, A10])
    with pytest.raises(OptionError, match="o: a-1 is not among the partitions that are read"):
        spec.of([A0])
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_a_long_list_of_places_is_cut() -> None:
    with pytest.raises(OptionError, match=r"a-0, a-1, a-2, a-3, a-4 and 95 more;"):
        ByPartition({}, "o").of(TopicPartition("a", index) for index in range(100))


def test_one_time_is_for_all_partitions() -> None:
    spec = ByTime(77, "error", "startingTimestamp")
    assert spec.of([A0, B0]) == {A0: 77, B0: 77}
    assert "startingTimestamp: b-0 has no record at or after 77" in str(spec.missing(B0))
    assert "at or after 5" in str(ByTime({A0: 5}, "error", "o").missing(A0))
