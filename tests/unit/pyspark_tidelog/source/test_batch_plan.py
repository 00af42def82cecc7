"""What a batch read comes to: its ends, what is not there, and what need not be read."""

from datetime import UTC, datetime

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual
from tests.unit.pyspark_tidelog.fake_cluster import FakeCluster

from pyspark_tidelog.errors import DataLoss, OptionError
from pyspark_tidelog.source.batch_plan import batch_tasks
from pyspark_tidelog.source.options import source_options
from tidelog.client.errors import ClientError

Planned = list[tuple[str, int, int]]


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    first, second = made.create("a", 10, 7)
    first.first = 2
    first.times = {offset: 1_000 + 100 * offset for offset in range(10)}
    second.times = dict.fromkeys(range(7), 1000)
    return made


def planned(cluster: FakeCluster, *predicates: object, **options: str) -> Planned:
    named = {"kafka.bootstrap.servers": "nobody:1", "subscribe": "a", **options}
    tasks = batch_tasks(source_options(named, is_streaming=False), cluster.view(), predicates)
    return [(str(task.topic_partition), task.start, task.end) for task in tasks]


def test_everything_that_is_there(cluster: FakeCluster) -> None:
    assert planned(cluster) == [("a-0", 2, 10), ("a-1", 0, 7)]


def test_offsets_that_are_named(cluster: FakeCluster) -> None:
    found = planned(cluster, startingOffsets='{"a":{"0":4,"1":-2}}', endingOffsets='{"a":{"0":-1,"1":3}}')
    assert found == [("a-0", 4, 10), ("a-1", 0, 3)]


def test_times_become_offsets(cluster: FakeCluster) -> None:
    found = planned(cluster, startingTimestamp="1400", startingOffsetsByTimestampStrategy="latest")
    assert found == [("a-0", 4, 10)]
    assert planned(cluster, endingTimestamp="1400") == [("a-0", 2, 4), ("a-1", 0, 7)]
    with pytest.raises(OptionError, match=r"^startingTimestamp: a-1 has no record"):
        planned(cluster, startingTimestamp="1400")


def test_as_of_a_time_has_the_records_of_that_millisecond(cluster: FakeCluster) -> None:
    assert planned(cluster, asOf="1970-01-01T00:00:01.400Z") == [("a-0", 2, 5), ("a-1", 0, 7)]


@pytest.mark.parametrize(
    ("starting", "ending", "message"),
    [
        (1, 5, "a-0: offset 1 is wanted, offsets 2 to 9 are available"),
        (0, 1, "a-0: offset 0 is wanted, offsets 2 to 9 are available"),
        (11, 12, "a-0: offset 11 is wanted, offsets 2 to 9 are available"),
        (11, -1, "a-0: offset 11 is wanted, offsets 2 to 9 are available"),
        (5, 12, "a-0: offset 11 is wanted, offsets 2 to 9 are available"),
    ],
)
def test_offsets_that_are_not_there_are_data_loss(
    cluster: FakeCluster, starting: int, ending: int, message: str
) -> None:
    options = {
        "startingOffsets": f'{{"a":{{"0":{starting},"1":0}}}}',
        "endingOffsets": f'{{"a":{{"0":{ending},"1":0}}}}',
    }
    with pytest.raises(DataLoss, match=f"^{message}"):
        planned(cluster, **options)
    start, end = max(starting, 2), min(ending if ending >= 0 else 10, 10)
    assert planned(cluster, failOnDataLoss="false", **options) == ([("a-0", start, end)] if start < end else [])


def test_a_start_after_the_end_is_refused(cluster: FakeCluster) -> None:
    with pytest.raises(OptionError, match=r"^startingOffsets: a-0 would start at offset 9, after its end at 3"):
        planned(cluster, startingOffsets='{"a":{"0":9,"1":0}}', endingTimestamp="1300")


def test_a_partition_that_nobody_named_is_refused(cluster: FakeCluster) -> None:
    with pytest.raises(OptionError, match=r"^startingOffsets: says nothing about a-1"):
        planned(cluster, startingOffsets='{"a":{"0":4}}')


def test_unknown_topics_are_refused(cluster: FakeCluster) -> None:
    with pytest.raises(ClientError, match="find topic b"):
        planned(cluster, subscribe="a,b")


def test_predicates_leave_out_what_can_not_match(cluster: FakeCluster) -> None:
    assert planned(cluster, EqualTo(("partition",), 1)) == [("a-1", 0, 7)]
    assert planned(cluster, GreaterThanOrEqual(("offset",), 6)) == [("a-0", 6, 10), ("a-1", 6, 7)]
    late = datetime.fromtimestamp(1.4, UTC)
    assert planned(cluster, GreaterThanOrEqual(("timestamp",), late)) == [("a-0", 4, 10)]


def test_tasks_are_cut_as_the_options_say(cluster: FakeCluster) -> None:
    assert planned(cluster, maxRecordsPerPartition="5") == [
        ("a-0", 2, 6),
        ("a-0", 6, 10),
        ("a-1", 0, 3),
        ("a-1", 3, 7),
    ]
