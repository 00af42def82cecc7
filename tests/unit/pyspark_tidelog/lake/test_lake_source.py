"""`tidelog-lake` without Spark's JVM: what is the other source's, what is its own, and what travels to the workers."""

from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict, InputPartition
from pyspark.sql.streaming.datasource import ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType
from tests.unit.pyspark_tidelog.fake_cluster import FakeCluster

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.settings import ClusterOptions
from pyspark_tidelog.lake import source as module
from pyspark_tidelog.lake.archive_task import COLUMNS
from pyspark_tidelog.lake.layout import ROW_SCHEMA
from pyspark_tidelog.lake.source import LakeDataSource
from pyspark_tidelog.lake.staging import ArchiveSettings


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = FakeCluster()
    made.create("a", 40, 0)
    monkeypatch.setattr(ClusterOptions, "connect", lambda _options, **_how: made.client)
    return made


def source(**options: str) -> LakeDataSource:
    given = {"kafka.bootstrap.servers": "nobody:1", "subscribe": "a", "archiveTo": "/lake", "archiveName": "query"}
    return LakeDataSource(CaseInsensitiveDict({**given, **options}))


def reader(**options: str) -> Any:
    return source(**options).reader(StructType())


def stream(**options: str) -> Any:
    return source(**options).streamReader(StructType())


def test_the_row_is_the_same_for_every_read() -> None:
    assert LakeDataSource.name() == "tidelog-lake"
    assert source(columns="value").schema() == ROW_SCHEMA


def test_tasks_are_those_of_the_other_source_with_the_columns_of_an_archive(cluster: FakeCluster) -> None:
    tasks = [each.value for each in reader(maxRecordsPerPartition="20").partitions()]
    assert [(task.start, task.end, task.columns) for task in tasks] == [(0, 20, COLUMNS), (20, 40, COLUMNS)]
    (task,) = (each.value for each in reader(columns="value,topic").partitions())
    assert task.columns == ("value", "topic")


def test_a_stream_limits_its_batches_and_can_end(cluster: FakeCluster) -> None:
    made = stream(startingOffsets="earliest", maxOffsetsPerTrigger="10")
    assert issubclass(type(made), SupportsTriggerAvailableNow)
    assert made.getDefaultReadLimit() == ReadMaxRows(10)
    assert made.latestOffset(made.initialOffset(), ReadMaxRows(10)) == {"a": {"0": 10, "1": 0}}


@pytest.mark.parametrize("make", [reader, stream])
def test_a_task_archives_with_the_settings_that_came_with_it(
    make: Any, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = make(archiveTo=f"file://{tmp_path}", archiveEncoding="spark")
    copy = cloudpickle.loads(cloudpickle.dumps(made))  # type: ignore[no-untyped-call]
    seen: list[Any] = []

    def archived(task: Any, settings: ArchiveSettings) -> Any:
        seen.append((task, settings.directory, settings.name, settings.parquet.encoding))
        return iter([("row",)])

    monkeypatch.setattr(module, "archived", archived)
    (partition,) = reader().partitions()
    assert list(copy.read(partition)) == [("row",)]
    assert seen == [(partition.value, str(tmp_path), "query", "spark")]
    assert list(copy.read(InputPartition(None))) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"archiveTo": ""}, "archiveTo: is missing"),
        ({"archiveName": ""}, "archiveName: is missing"),
        ({"archiveName": "../up"}, "archiveName: '../up' can not stand in a path"),
        ({"archiveTo": "s3a://bucket"}, "archiveTo: 's3a://bucket' is not a directory"),
        ({"archiveCompression": "rar"}, "archiveCompression: 'rar' is not possible"),
        ({"archiveToo": "/x"}, "archivetoo: a read has no such option"),
    ],
)
@pytest.mark.parametrize("make", [reader, stream])
def test_wrong_options_are_named(make: Any, options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make(**options)
