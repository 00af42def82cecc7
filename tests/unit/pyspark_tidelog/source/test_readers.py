"""Spark's readers without Spark's JVM: what each version of PySpark calls, and what travels to the workers."""

import pickle
import sys
from types import ModuleType
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict, DataSourceReader, EqualTo, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows, SupportsTriggerAvailableNow
from tests.unit.pyspark_tidelog.fake_cluster import FakeCluster

from pyspark_tidelog import DefaultSource
from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.settings import ClusterOptions
from pyspark_tidelog.source.batch_reader import BatchReader, FilteringBatchReader
from pyspark_tidelog.source.schema import spark_schema
from pyspark_tidelog.source.stream_reader import LimitingStreamReader, StreamReader, UnlimitedStreamReader
from pyspark_tidelog.spark.process import PUSHING_FILTERS

VALUE = spark_schema(["value"])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = FakeCluster()
    made.create("a", 40, 0)
    monkeypatch.setattr(ClusterOptions, "connect", lambda _options, **_how: made.client)
    return made


def source(**options: str) -> DefaultSource:
    named = CaseInsensitiveDict({"kafka.bootstrap.servers": "nobody:1", "subscribe": "a", **options})
    return DefaultSource(named)


def stream(**options: str) -> Any:
    return source(**options).streamReader(VALUE)


def test_the_schema_is_that_of_the_columns() -> None:
    names = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert source().schema().fieldNames() == names
    assert source(includeHeaders="true").schema().fieldNames() == [*names, "headers"]
    assert source(columns="value,offset").schema().fieldNames() == ["value", "offset"]


def test_a_batch_is_an_input_partition_for_each_range(cluster: FakeCluster) -> None:
    reader = source(maxRecordsPerPartition="20").reader(VALUE)
    tasks = [partition.value for partition in reader.partitions()]
    assert [(task.topic, task.partition, task.start, task.end) for task in tasks] == [("a", 0, 0, 20), ("a", 0, 20, 40)]
    assert {task.columns for task in tasks} == {("value",)}


@pytest.mark.parametrize("made_up", [InputPartition(None), None])
def test_nothing_to_read_is_no_rows(made_up: Any) -> None:
    """What Spark sends then, since 4.2 and before."""
    assert list(source().reader(VALUE).read(made_up)) == []


def test_filters_are_taken_only_where_spark_allows_it(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = source().reader(VALUE)
    assert type(plain).pushFilters is DataSourceReader.pushFilters
    monkeypatch.setitem(sys.modules, PUSHING_FILTERS, ModuleType(PUSHING_FILTERS))
    reader = source().reader(VALUE)
    assert isinstance(reader, FilteringBatchReader)
    filters: list[Any] = [EqualTo(("partition",), 1)]
    assert list(reader.pushFilters(filters)) == filters
    assert reader.partitions() == []
    assert isinstance(plain, BatchReader)
    assert len(plain.partitions()) == 1


def test_readers_travel_even_after_they_have_connected(cluster: FakeCluster) -> None:
    reader = stream()
    reader.initialOffset()
    copy = cloudpickle.loads(cloudpickle.dumps(reader))  # type: ignore[no-untyped-call]
    assert isinstance(copy, LimitingStreamReader)
    assert list(copy.read(InputPartition(None))) == []


@pytest.mark.parametrize(
    ("options", "limit"),
    [
        ({}, ReadAllAvailable()),
        ({"maxOffsetsPerTrigger": "7"}, ReadMaxRows(7)),
        ({"minOffsetsPerTrigger": "3"}, ReadMinRows(3)),
        ({"maxTimePerTrigger": "1h"}, ReadMaxRows((1 << 63) - 1)),
        ({"maxTimePerTrigger": "1h", "minOffsetsPerTrigger": "3"}, ReadMinRows(3)),
        ({"maxTimePerTrigger": "1h", "maxOffsetsPerTrigger": "7"}, ReadMaxRows(7)),
        ({"minOffsetsPerTrigger": "3", "maxOffsetsPerTrigger": "7"}, ReadMaxRows(7)),
    ],
)
def test_the_limit_is_that_of_the_options(options: dict[str, str], limit: object) -> None:
    assert stream(**options).getDefaultReadLimit() == limit


def test_offsets_are_the_json_of_sparks_connector(cluster: FakeCluster) -> None:
    reader = stream(startingOffsets="earliest", maxOffsetsPerTrigger="7")
    start = reader.initialOffset()
    assert start == {"a": {"0": 0, "1": 0}}
    assert reader.reportLatestOffset() is None
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert end == {"a": {"0": 7, "1": 0}}
    assert reader.reportLatestOffset() == {"a": {"0": 40, "1": 0}}
    assert [partition.value.end for partition in reader.partitions(start, end)] == [7]


def test_once_is_all_there_is_and_a_minimum_waits(cluster: FakeCluster) -> None:
    reader = stream(startingOffsets="earliest", minOffsetsPerTrigger="50", maxOffsetsPerTrigger="60")
    start = reader.initialOffset()
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset(start, limit) == {"a": {"0": 40, "1": 0}}
    cluster.topics["a"][0].end = 45
    assert reader.latestOffset(start, limit) == start
    assert reader.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 45, "1": 0}}


def test_available_now_is_announced(cluster: FakeCluster) -> None:
    reader = stream(startingOffsets="earliest")
    is_announced = isinstance(reader, SupportsTriggerAvailableNow)
    assert is_announced
    reader.prepareForTriggerAvailableNow()
    target = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    cluster.topics["a"][0].end = 99
    assert reader.latestOffset(target, ReadAllAvailable()) == target


def test_wrong_options_are_told_by_the_first_question() -> None:
    reader = stream(endingOffsets="latest")
    reader.stop()
    for ask in (
        reader.initialOffset,
        lambda: reader.latestOffset({}, ReadAllAvailable()),
        lambda: reader.partitions({}, {}),
        lambda: reader.read(InputPartition(None)),
    ):
        with pytest.raises(OptionError, match=r"^endingOffsets: a stream does not end"):
            ask()


def test_what_travels_to_a_task_is_the_task(cluster: FakeCluster) -> None:
    reader = source(maxRecordsPerPartition="20", columns="value").reader(VALUE)
    sent = reader.partitions()
    received = pickle.loads(pickle.dumps(sent[1]))
    assert isinstance(received, InputPartition)
    assert received.value == sent[1].value
    assert (received.value.start, received.value.topic_id) == (20, cluster.ids["a"])
    assert len(pickle.dumps(sent[1])) < 1_000


def test_the_tasks_of_a_stream_know_whom_to_ask(cluster: FakeCluster) -> None:
    planned = stream().partitions({"a": {"0": 0, "1": 0}}, {"a": {"0": 20, "1": 0}})
    found = [pickle.loads(pickle.dumps(each)).value.leader for each in planned]
    assert [(each.node.address, each.leader_epoch) for each in found] == [("host:9092", -1)]


def test_stop_closes_the_connection(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(cluster.client, "close", lambda: closed.append(True))
    reader = stream()
    reader.initialOffset()
    reader.stop()
    reader.stop()
    assert closed == [True]


# PySpark 4.1 has no pyspark.sql.streaming.datasource


@pytest.fixture
def pyspark_41(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.datasource", None)


@pytest.mark.usefixtures("pyspark_41")
def test_41_goes_on_from_where_it_was(cluster: FakeCluster) -> None:
    reader = stream(startingOffsets="earliest")
    assert isinstance(reader, UnlimitedStreamReader)
    end = reader.latestOffset()
    assert (reader.initialOffset(), end) == ({"a": {"0": 0, "1": 0}}, {"a": {"0": 40, "1": 0}})
    assert len(reader.partitions(reader.initialOffset(), end)) == 1
    del cluster.topics["a"]
    with pytest.raises(Exception, match="a-0: offset 40 is wanted, the partition is gone"):
        reader.latestOffset()


@pytest.mark.usefixtures("pyspark_41")
def test_41_is_told_by_an_empty_batch_where_a_restart_goes_on(cluster: FakeCluster) -> None:
    reader = stream()
    reached = {"a": {"0": 41, "1": 0}}
    assert reader.partitions(reached, reached) == []
    with pytest.raises(Exception, match="a-0: offset 41 is wanted"):
        reader.latestOffset()


@pytest.mark.usefixtures("pyspark_41")
@pytest.mark.parametrize("name", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTimePerTrigger"])
def test_41_refuses_limits(name: str) -> None:
    with pytest.raises(OptionError, match=rf"^{name}: PySpark 4\.1"):
        stream(**{name: "7"}).latestOffset()
    assert isinstance(stream(), StreamReader)
