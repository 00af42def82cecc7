"""A task's file: the records, the settings, nothing left behind when it fails."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from pyspark_tidelog.kafka.settings import cluster_options, fetch_settings
from pyspark_tidelog.lake.archive_task import COLUMNS, archived
from pyspark_tidelog.lake.auditing import archived_until, audit
from pyspark_tidelog.lake.committing import Committer
from pyspark_tidelog.lake.files import LocalFiles
from pyspark_tidelog.lake.layout import ROW_SCHEMA, ArchivedRange
from pyspark_tidelog.lake.parquet_settings import ParquetSettings
from pyspark_tidelog.lake.parquet_writing import row_groups
from pyspark_tidelog.lake.staging import ArchiveSettings
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.schema import arrow_schema
from tidelog.model.ids import Uuid

TOPIC_ID = Uuid(bytes(range(16)))


def task(start: int = 0, end: int = 100, columns: tuple[str, ...] = COLUMNS) -> FetchTask:
    options = {"kafka.bootstrap.servers": "localhost:1"}
    cluster, fetch = cluster_options(options), fetch_settings(options)
    return FetchTask(cluster, fetch, "t", TOPIC_ID, 3, start, end, columns, True)


def batch(start: int, end: int) -> Any:
    rows = range(start, end)
    columns = {
        "key": [None if row % 3 else b"k%d" % row for row in rows],
        "value": [b"value %d" % row for row in rows],
        "offset": list(rows),
        "timestamp": [1_700_000_000_000_000 + row * 1000 for row in rows],
        "timestampType": [0] * len(rows),
        "headers": [[{"key": "h", "value": b"x"}] if row % 2 else None for row in rows],
    }
    schema = arrow_schema(COLUMNS)
    return pa.record_batch([pa.array(columns[name], schema.field(name).type) for name in COLUMNS], schema=schema)


def fetch(given: FetchTask) -> Iterator[Any]:
    for start in range(given.start, given.end, 7):
        yield batch(start, min(start + 7, given.end))


def settings(directory: Path, **parquet: Any) -> ArchiveSettings:
    return ArchiveSettings(str(directory), "query", ParquetSettings(**parquet))


def run(directory: Path, given: FetchTask, **parquet: Any) -> ArchivedRange:
    (row,) = archived(given, settings(directory, **parquet), fetch)
    return ArchivedRange(*row)  # type: ignore[arg-type]


def test_a_task_has_one_row_that_tells_of_its_file(tmp_path: Path) -> None:
    found = run(tmp_path, task())
    assert found.path
    assert found.path.startswith("_tidelog/staging/query/")
    assert found == ArchivedRange(
        topic="t",
        topic_id="AAECAwQFBgcICQoLDA0ODw",
        partition=3,
        from_offset=0,
        until_offset=100,
        rows=100,
        bytes=(tmp_path / found.path).stat().st_size,
        path=found.path,
        min_timestamp_ms=1_700_000_000_000,
        max_timestamp_ms=1_700_000_000_099,
    )


def test_the_row_has_the_columns_that_the_source_declares() -> None:
    assert [each.split()[0] for each in ROW_SCHEMA.split(", ")] == list(ArchivedRange.__slots__)


@pytest.mark.parametrize("encoding", ["tidelog", "spark"])
@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "none"])
def test_the_file_holds_the_records(tmp_path: Path, encoding: str, compression: str) -> None:
    found = run(tmp_path, task(), encoding=encoding, compression=compression, rows_max=20)
    read = pq.ParquetFile(tmp_path / str(found.path))
    assert read.read().to_pylist() == batch(0, 100).to_pylist()
    assert read.metadata.num_row_groups == 5  # of three batches of seven
    assert read.metadata.row_group(0).column(0).compression.lower() == compression.replace("none", "uncompressed")
    assert read.metadata.metadata[b"tidelog.topic"] == b"t"
    assert read.metadata.metadata[b"tidelog.until_offset"] == b"100"


def test_offsets_are_differences_and_values_have_no_dictionary(tmp_path: Path) -> None:
    found = run(tmp_path, task())
    row_group = pq.ParquetFile(tmp_path / str(found.path)).metadata.row_group(0)
    columns = {row_group.column(i).path_in_schema: row_group.column(i) for i in range(row_group.num_columns)}
    assert "DELTA_BINARY_PACKED" in columns["offset"].encodings
    assert not columns["value"].has_dictionary_page
    assert not columns["value"].is_stats_set
    assert columns["offset"].statistics.min == 0
    assert columns["timestampType"].has_dictionary_page


def test_as_spark_writes_it(tmp_path: Path) -> None:
    found = run(tmp_path, task(), encoding="spark")
    row_group = pq.ParquetFile(tmp_path / str(found.path)).metadata.row_group(0)
    for index in range(row_group.num_columns):
        assert row_group.column(index).has_dictionary_page
        assert row_group.column(index).is_stats_set


def test_large_records_are_bounded_by_their_bytes() -> None:
    groups = list(row_groups(fetch(task()), ParquetSettings(bytes_max=2 * batch(0, 7).nbytes)))
    assert [sum(each.num_rows for each in group) for group in groups] == [14] * 7 + [2]


def test_a_range_without_records_leaves_no_file(tmp_path: Path) -> None:
    (row,) = archived(task(), settings(tmp_path), lambda _task: [batch(0, 0)])
    found = ArchivedRange(*row)  # type: ignore[arg-type]
    assert (found.rows, found.bytes, found.path, found.min_timestamp_ms) == (0, 0, None, None)
    assert LocalFiles(str(tmp_path)).names("_tidelog/staging/query") == []


def test_times_are_left_out_where_their_column_is(tmp_path: Path) -> None:
    (row,) = archived(task(), settings(tmp_path), lambda _task: [batch(0, 5).select(["value"])])
    assert row[-2:] == (None, None)


def failing(given: FetchTask) -> Iterator[Any]:
    yield from fetch(given)
    raise ConnectionError("the broker is gone")


def test_a_task_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="the broker is gone"):
        list(archived(task(), settings(tmp_path, rows_max=10), failing))
    assert LocalFiles(str(tmp_path)).names("_tidelog/staging/query") == []


def test_what_goes_wrong_in_the_writers_thread_fails_the_task(tmp_path: Path) -> None:
    def other_columns(given: FetchTask) -> Iterator[Any]:
        yield batch(0, 10)
        yield batch(10, 20).select(["value"])
        yield from fetch(given)

    with pytest.raises(ValueError, match="schema"):
        list(archived(task(), settings(tmp_path, rows_max=10), other_columns))
    assert LocalFiles(str(tmp_path)).names("_tidelog/staging/query") == []


def committed(directory: Path) -> None:
    committer = Committer(LocalFiles(str(directory)), "query")
    committer.commit(0, [run(directory, task(0, 40)), run(directory, task(40, 100))])
    committer.commit(1, [run(directory, task(100, 130))])


def test_readers_find_the_committed_records_with_topic_and_partition(tmp_path: Path) -> None:
    committed(tmp_path)
    run(tmp_path, task(130, 140))  # staged, and not committed
    for table in (pq.read_table(tmp_path), ds.dataset(tmp_path, partitioning="hive").to_table()):
        rows = table.select(["topic", "partition", "offset"]).to_pylist()
        assert sorted(row["offset"] for row in rows) == list(range(130))
        assert {(row["topic"], row["partition"]) for row in rows} == {("t", 3)}


def test_where_to_go_on(tmp_path: Path) -> None:
    assert archived_until(str(tmp_path)) == {}
    committed(tmp_path)
    (tmp_path / "topic=t/partition=3/notes.txt").touch()
    (tmp_path / "topic=t/notes").mkdir()
    assert archived_until(str(tmp_path)) == {"t": {"3": 130}}


def test_an_audit_finds_what_is_not_as_it_was_committed(tmp_path: Path) -> None:
    committed(tmp_path)
    assert audit(str(tmp_path)) == []
    first, second, third = sorted((tmp_path / "topic=t/partition=3").iterdir())
    first.unlink()
    second.write_bytes(b"short")
    third.rename(third.with_name("0-1.parquet"))
    (tmp_path / "_tidelog/manifests/query/1.json").unlink()
    (tmp_path / "_tidelog/intents/query.2.json").touch()
    found = "\n".join(audit(str(tmp_path)))
    assert f"{first.name}: missing" in found
    assert f"{second.name}: 5 bytes, committed with" in found
    assert "0-1.parquet: in no manifest" in found
    assert "query.2.json: decided on, not done" in found


def test_an_audit_finds_gaps_and_repeats(tmp_path: Path) -> None:
    for name, spans in {"a": [(0, 10), (20, 30)], "b": [(25, 40)]}.items():
        files = LocalFiles(str(tmp_path))
        ranges = [ArchivedRange("t", None, 0, start, end, 0, 0, None, None, None) for start, end in spans]
        Committer(files, name).commit(0, ranges)
    assert audit(str(tmp_path)) == ["t-0: offsets 10 to 20 are in no batch", "t-0: offsets 25 to 30 are twice"]
