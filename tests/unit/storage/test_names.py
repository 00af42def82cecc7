"""File names are Kafka's, and no other name passes for one."""

import pytest

from tidelog.model.ids import TopicPartition
from tidelog.storage.errors import InvalidNameError
from tidelog.storage.names import (
    KINDS,
    STATES,
    DirectoryState,
    PartitionDirectory,
    SegmentName,
    marked_directory,
    parse_partition_directory,
    parse_segment_name,
    partition_directory,
    segment_name,
)

UNIQUE = "0123456789abcdef0123456789abcdef"


def test_a_segment_is_named_by_twenty_digits() -> None:
    assert segment_name(42, ".log") == "00000000000000000042.log"
    assert segment_name(2**63 - 1, ".index", ".swap") == "09223372036854775807.index.swap"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", STATES)
def test_a_segment_name_is_read_back(kind: str, state: str) -> None:
    assert parse_segment_name(segment_name(7, kind, state)) == SegmentName(7, kind, state)


@pytest.mark.parametrize(
    "name",
    [
        "partition.metadata",
        "leader-epoch-checkpoint",
        "42.log",
        "000000000000000000042.log",
        "0000000000000000004x.log",
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٤٢.log",
        "-0000000000000000042.log",
        "00000000000000000042",
        "00000000000000000042.txt",
        "00000000000000000042.log.old",
        "00000000000000000042.log.",
        "00000000000000000042.log.swap.deleted",
        "09223372036854775808.log",
        "",
    ],
)
def test_other_names_are_none_of_a_segment(name: str) -> None:
    assert parse_segment_name(name) is None


@pytest.mark.parametrize("topic", ["orders", "a-b", "with.dots-and-1", "ends-delete"])
def test_a_partition_directory_is_read_back(topic: str) -> None:
    expected = PartitionDirectory(TopicPartition(topic, 12), DirectoryState.CURRENT)
    assert parse_partition_directory(partition_directory(topic, 12)) == expected


@pytest.mark.parametrize("state", [DirectoryState.DELETE, DirectoryState.FUTURE, DirectoryState.STRAY])
def test_a_marked_directory_is_read_back(state: DirectoryState) -> None:
    name = marked_directory("a.b-c", 3, UNIQUE, state)
    assert name == f"a.b-c-3.{UNIQUE}{state.value}"
    assert parse_partition_directory(name) == PartitionDirectory(TopicPartition("a.b-c", 3), state)


def test_a_topic_name_of_full_length_is_cut_to_fit_when_it_is_deleted() -> None:
    name = marked_directory("t" * 249, 100, UNIQUE, DirectoryState.DELETE)
    assert len(name) == 255
    assert parse_partition_directory(name).topic_partition == TopicPartition("t" * (255 - 44), 100)


def test_a_future_directory_keeps_the_topic_name_whole() -> None:
    name = marked_directory("t" * 249, 100, UNIQUE, DirectoryState.FUTURE)
    assert parse_partition_directory(name).topic_partition == TopicPartition("t" * 249, 100)


@pytest.mark.parametrize(
    "name",
    ["orders", "-1", "orders-", "orders-x", "orders-2147483648", "orders-٣", "orders--delete", "orders-1-delete",
     "orders-1.-delete", f"orders.{UNIQUE}-stray"],
)  # fmt: skip
def test_a_strange_directory_is_refused(name: str) -> None:
    with pytest.raises(InvalidNameError, match=name):
        parse_partition_directory(name)
