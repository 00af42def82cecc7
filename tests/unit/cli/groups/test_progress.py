"""Lag, rates and the time to catch up; and the offsets that a reset gives to a group."""

import argparse
from pathlib import Path

import pytest

from tidelog.cli.failing import WrongUsage
from tidelog.cli.groups.progress import Progress, catch_up, lag_row, total_row
from tidelog.cli.groups.reset import read_plan, write_plan
from tidelog.cli.groups.reset_plan import PartitionReset, Ranges, plan_of
from tidelog.cli.groups.scope import TopicScope, one_partition, topic_scope
from tidelog.cli.groups.views import shown_partitions
from tidelog.model.ids import TopicPartition

TOPIC_PARTITION = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("lag", "consumed", "produced", "expected"),
    [
        (None, 1.0, 1.0, (None, None)),
        (0, None, None, (0.0, "caught up")),
        (5, None, 1.0, (None, None)),
        (100, 30.0, 10.0, (5.0, "5.0s")),
        (100, 0.0, 10.0, (None, "never: not moving")),
        (100, 0.0, 0.0, (None, "never: not moving")),
        (100, 5.0, 10.0, (None, "never: production is faster")),
        (100, 5.0, 5.0, (None, "never: production is as fast")),
    ],
)
def test_the_time_to_catch_up(
    lag: int | None, consumed: float | None, produced: float | None, expected: tuple[float | None, str | None]
) -> None:
    assert catch_up(lag, consumed, produced) == expected


def test_rates_are_of_two_looks() -> None:
    row = lag_row("g", Progress(TOPIC_PARTITION, 40, 100), Progress(TOPIC_PARTITION, 20, 90), 2.0)
    assert (row["lag"], row["consumed_per_s"], row["produced_per_s"], row["catch_up"]) == (60, 10.0, 5.0, "12s")
    assert lag_row("g", Progress(TOPIC_PARTITION, 40, 100), None, 0)["consumed_per_s"] is None


def test_a_group_that_was_put_back_consumes_nothing() -> None:
    assert (
        lag_row("g", Progress(TOPIC_PARTITION, 10, 100), Progress(TOPIC_PARTITION, 20, 100), 1.0)["consumed_per_s"] == 0
    )


def test_what_is_not_known_is_no_number() -> None:
    assert Progress(TOPIC_PARTITION, None, 5).lag is None
    assert Progress(TOPIC_PARTITION, 5, None).lag is None
    assert Progress(TOPIC_PARTITION, 9, 5).lag == 0  # the log was truncated below the committed offset


def rows_of(*pairs: tuple[Progress, Progress | None]) -> list[dict[str, object]]:
    return [lag_row("g", now, before, 1.0) for now, before in pairs]


def test_a_group_has_caught_up_with_its_last_partition() -> None:
    quick, slow = Progress(TOPIC_PARTITION, 90, 100), Progress(TOPIC_PARTITION, 20, 100)
    total = total_row(
        "g", rows_of((quick, Progress(TOPIC_PARTITION, 80, 100)), (slow, Progress(TOPIC_PARTITION, 16, 100)))
    )
    assert (total["lag"], total["consumed_per_s"], total["catch_up"]) == (90, 14.0, "20s")
    stuck = total_row("g", rows_of((quick, Progress(TOPIC_PARTITION, 80, 100)), (slow, slow)))
    assert (stuck["catch_up_s"], stuck["catch_up"]) == (None, "never: not moving")
    assert total_row("g", rows_of((quick, None)))["catch_up"] is None
    assert total_row("g", [])["catch_up"] == "caught up"


class Log(Ranges):
    """A log from offset 10 to 100, with a record of time 5 at offset 50."""

    def __init__(self) -> None: ...

    def at(self, when: int, _topic_partition: TopicPartition) -> int:
        return {-2: 10, -1: 100, 5: 50}.get(when, -1)


def plan(committed: int | None, given: dict[TopicPartition, int] | None = None, **target: object) -> PartitionReset:
    nothing = {"to_earliest": False, "to_latest": False, "to_offset": None, "to_datetime": None, "shift_by": None}
    return plan_of(TOPIC_PARTITION, committed, given, argparse.Namespace(**{**nothing, **target}), Log())


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"to_earliest": True}, 10),
        ({"to_latest": True}, 100),
        ({"to_offset": 33}, 33),
        ({"to_offset": 3}, 10),
        ({"to_offset": 101}, 100),
        ({"to_datetime": 5}, 50),
        ({"to_datetime": 6}, 100),
        ({"shift_by": -5}, 35),
        ({"shift_by": -50}, 10),
        ({"shift_by": 500}, 100),
        ({"given": {TOPIC_PARTITION: 7}}, 10),
        ({"given": {TOPIC_PARTITION: 70}}, 70),
        ({}, 40),
    ],
)
def test_where_a_reset_goes(target: dict[str, object], expected: int) -> None:
    found = plan(40, **target)  # type: ignore[arg-type]
    assert (found.new, found.row()["change"]) == (expected, expected - 40)


def test_of_nothing_committed() -> None:
    assert plan(None).new == 100
    assert plan(None, to_earliest=True).row()["change"] is None
    with pytest.raises(WrongUsage, match="has no offset of t-0 to shift"):
        plan(None, shift_by=1)


def test_a_plan_is_written_and_read_back(tmp_path: Path) -> None:
    path = f"{tmp_path}/plan.csv"
    write_plan(path, [PartitionReset(TOPIC_PARTITION, 1, 5), PartitionReset(TopicPartition("u", 3), None, 7)])
    assert read_plan(path) == {TOPIC_PARTITION: 5, TopicPartition("u", 3): 7}


@pytest.mark.parametrize("text", ["t,0\n", "t,x,5\n", "", "\n"])
def test_a_file_that_is_no_plan_is_named(text: str, tmp_path: Path) -> None:
    path = f"{tmp_path}/plan.csv"
    with open(path, "w") as file:
        file.write(text)
    with pytest.raises(WrongUsage, match=r"plan\.csv"):
        read_plan(path)
    with pytest.raises(WrongUsage, match="No such file"):
        read_plan(f"{tmp_path}/none")


def test_kafkas_files_have_the_group_in_front(tmp_path: Path) -> None:
    path = f"{tmp_path}/plan.csv"
    with open(path, "w") as file:
        file.write('"g","t",0,5\n')
    assert read_plan(path) == {TOPIC_PARTITION: 5}


def test_scopes() -> None:
    assert topic_scope("orders") == TopicScope("orders", None)
    assert topic_scope("orders:0,2") == TopicScope("orders", (0, 2))
    assert one_partition("orders:3") == TopicPartition("orders", 3)
    for wrong in ("", ":1", "orders:", "orders:a"):
        with pytest.raises(argparse.ArgumentTypeError):
            topic_scope(wrong)
    for wrong in ("orders", "orders:1,2"):
        with pytest.raises(argparse.ArgumentTypeError, match="not one partition"):
            one_partition(wrong)


def test_partitions_in_runs() -> None:
    topic_partitions = [TopicPartition("b", 1), *(TopicPartition("a", each) for each in (0, 1, 2, 5))]
    assert shown_partitions(topic_partitions) == "a:0-2,5 b:1"
    assert shown_partitions([]) == ""
