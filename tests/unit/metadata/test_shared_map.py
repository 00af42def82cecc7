"""The map under the metadata: it reads like a dict, and its versions share what they have in common."""

from collections.abc import Iterator
from unittest import mock

import pytest

from tidelog.metadata import shared_map
from tidelog.metadata.shared_map import SharedMap, number_of_int, number_of_text


@pytest.fixture(autouse=True)
def small_buckets() -> Iterator[None]:
    with mock.patch.object(shared_map, "ENTRIES_A_BUCKET", 2):
        yield


def filled(count: int, owner: object) -> SharedMap[int, str]:
    made: SharedMap[int, str] = SharedMap(number_of_int)
    made = made.owned_by(owner)
    for number in range(count):
        made.put(number, f"value {number}")
    return made


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 8, 33])
def test_it_reads_like_a_dict_at_any_number_of_buckets(count: int) -> None:
    made = filled(count, object())
    expected = {number: f"value {number}" for number in range(count)}
    assert dict(made.items()) == expected
    assert sorted(made) == sorted(made.keys()) == sorted(expected)
    assert sorted(made.values()) == sorted(expected.values())
    assert len(made) == count
    assert [made[number] for number in range(count)] == list(expected.values())
    assert [made.get(number) for number in range(count)] == list(expected.values())
    assert all(number in made for number in range(count))


@pytest.mark.parametrize("count", [0, 1, 9])
def test_what_is_not_there_is_missing(count: int) -> None:
    made = filled(count, object())
    assert 100 not in made
    assert made.get(100) is None
    assert made.get(100, "else") == "else"
    with pytest.raises(KeyError):
        made[100]


def test_a_bucket_holds_few_entries_however_many_there_are() -> None:
    made = filled(1000, object())
    assert max(map(len, made._buckets)) <= 4


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_a_version_does_not_see_what_a_later_owner_writes(count: int) -> None:
    before = filled(count, object())
    after = before.owned_by(object())
    after.put(0, "changed")
    after.put(count, "new")
    after.remove(count - 1)
    assert dict(before.items()) == {number: f"value {number}" for number in range(count)}
    assert len(before) == count
    assert after[count] == "new"
    assert count - 1 not in after


def test_the_owner_writes_in_place() -> None:
    owner = object()
    made = filled(3, owner)
    assert made.owned_by(owner) is made


def test_untouched_buckets_are_shared() -> None:
    before = filled(100, object())
    after = before.owned_by(object())
    after.put(0, "changed")
    shared = [one is other for one, other in zip(before._buckets, after._buckets, strict=True)]
    assert shared.count(False) == 1


def test_removing_says_what_was_there() -> None:
    made = filled(9, object())
    assert made.remove(4) == "value 4"
    assert made.remove(4) is None
    assert len(made) == 8


def test_equality_is_of_content_not_of_history() -> None:
    one = filled(9, object())
    other: SharedMap[int, str] = SharedMap[int, str](number_of_int).owned_by(object())
    for number in reversed(range(9)):
        other.put(number, f"value {number}")
    assert one == other
    other.put(3, "different")
    assert one != other
    other.put(3, "value 3")
    other.put(10, "more")
    assert one != other
    assert one != dict(one.items())


def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    made: SharedMap[str, int] = SharedMap[str, int](number_of_text).owned_by(object())
    for number in range(12):
        made.put(f"key {number}", number)
    assert list(made.values()) == [4, 0, 11, 5, 7, 1, 3, 8, 10, 6, 2, 9]
