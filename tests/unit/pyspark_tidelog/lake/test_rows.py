"""`write_batch` without Spark: tasks run here, one after the other, on real files."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from pyspark_tidelog.errors import OptionError, SinkError
from pyspark_tidelog.lake import LakeError, audit, write_batch
from pyspark_tidelog.lake.committing import Committer
from pyspark_tidelog.lake.files import LocalFiles
from pyspark_tidelog.lake.layout import ArchivedRange
from pyspark_tidelog.lake.parquet_settings import ROWS
from pyspark_tidelog.spark.job_properties import QUERY_ID, RUN_ID

NAME, QUERY = "orders", "query"


class Frame:
    """As much of a DataFrame as is asked for: each of `tasks` has these numbers for rows."""

    def __init__(self, *tasks: Sequence[int], columns: Sequence[str] = ("number",), failing: bool = False) -> None:
        self.tasks, self.columns, self.failing = tasks, columns, failing
        self.sparkSession = object()
        self.given: Any = None  # instead of numbers
        self.computed: list[str] = []
        self.write = self

    def mapInArrow(self, function: Callable[..., Iterator[Any]], schema: str) -> "Frame":
        self.function = function
        return self

    def collect(self) -> list[dict[str, Any]]:
        self.computed.append("rows")
        return [row for task in reversed(self.tasks) for out in self.function(self.batches(task)) for row in rows(out)]

    def batches(self, numbers: Sequence[int]) -> Iterator[Any]:
        for number in numbers:
            yield self.given or pa.record_batch({"number": pa.array([number], pa.int64())})
        if self.failing:
            raise ZeroDivisionError

    def format(self, name: str) -> "Frame":
        return self.mode(name)

    def mode(self, name: str) -> "Frame":
        self.computed.append(name)
        return self

    def save(self) -> None:
        self.computed.append("saved")


def rows(batch: Any) -> list[dict[str, Any]]:
    return batch.to_pylist()  # type: ignore[no-any-return]


def write(frame: Frame, lake: Path, batch_id: int = 0, name: str = NAME, query_id: str | None = QUERY) -> int:
    given: Any = frame
    return write_batch(given, str(lake), batch_id, name=name, query_id=query_id).rows


def numbers(lake: Path) -> list[int]:
    return sorted(ds.dataset(lake, format="parquet").to_table()["number"].to_pylist())


def names(lake: Path) -> list[str]:
    return sorted(each.name for each in lake.glob("*.parquet"))


def staged(lake: Path) -> list[Path]:
    return list(lake.glob("_tidelog/staging/*/*"))


def test_rows_are_there_once_however_often_the_batch_is_replayed(tmp_path: Path) -> None:
    assert write(Frame([1, 2], [], [3]), tmp_path) == 3
    assert names(tmp_path) == [f"orders-{0:020}-{part:05}.parquet" for part in range(2)]
    replay = Frame([1], [2, 3])
    assert write(replay, tmp_path) == 3
    assert replay.computed == ["noop", "overwrite", "saved"]  # its state, and not its rows
    write(Frame([4]), tmp_path, 1)
    assert numbers(tmp_path) == [1, 2, 3, 4]
    assert audit(str(tmp_path)) == []
    assert staged(tmp_path) == []


def test_a_batch_without_rows_is_known_too(tmp_path: Path) -> None:
    assert write(Frame([], []), tmp_path) == 0
    assert names(tmp_path) == []
    assert write(Frame([1]), tmp_path) == 0
    assert audit(str(tmp_path)) == []


def test_a_task_that_fails_leaves_nothing(tmp_path: Path) -> None:
    frame = Frame([1, 2], failing=True)
    frame.given = pa.record_batch({"number": range(ROWS)})  # as many as begin the file
    with pytest.raises(ZeroDivisionError):
        write(frame, tmp_path)
    assert (staged(tmp_path), names(tmp_path)) == ([], [])
    assert write(Frame([1, 2]), tmp_path) == 2


def test_what_an_attempt_that_was_killed_left_is_removed(tmp_path: Path) -> None:
    lost = tmp_path / "_tidelog" / "staging" / NAME / "lost.parquet"
    lost.parent.mkdir(parents=True)
    for batch_id in (0, 0, 1):  # written, replayed, written
        lost.write_bytes(b"half a file")
        write(Frame([1]), tmp_path, batch_id)
        assert staged(tmp_path) == []


def test_a_file_says_whose_it_is_and_is_as_spark_writes_them(tmp_path: Path) -> None:
    write(Frame([7, 7]), tmp_path, 3)
    (path,) = tmp_path.glob("*.parquet")
    found = pq.ParquetFile(path).metadata
    assert (found.metadata[b"tidelog.name"], found.metadata[b"tidelog.batch"]) == (b"orders", b"3")
    assert found.row_group(0).column(0).statistics.max == 7


def test_any_column_may_have_a_name_that_records_have(tmp_path: Path) -> None:
    columns = {"timestamp": ["noon"], "offset": [0.5], "partition": ["south"]}
    frame = Frame([0], columns=list(columns))
    frame.given = pa.record_batch(columns)
    assert write(frame, tmp_path) == 1
    assert pq.ParquetFile(tmp_path / names(tmp_path)[0]).read().to_pylist() == [
        {"timestamp": "noon", "offset": 0.5, "partition": "south"}
    ]


def test_the_audit_sees_what_is_missing_and_what_nobody_wrote(tmp_path: Path) -> None:
    write(Frame([1]), tmp_path)
    (path,) = tmp_path.glob("*.parquet")
    path.rename(tmp_path / "other.parquet")
    assert audit(str(tmp_path)) == [f"{path.name}: missing", "other.parquet: in no manifest"]


def test_a_new_checkpoint_does_not_pass_for_the_old_one(tmp_path: Path) -> None:
    """Its batch 0 would be taken for the other's, and its rows be nowhere."""
    write(Frame([1]), tmp_path)
    with pytest.raises(
        LakeError, match=r"batch 0 of orders is in the archive already, from query query .*another name"
    ):
        write(Frame([2]), tmp_path, query_id="another")
    write(Frame([2]), tmp_path, name="orders-2", query_id="another")
    assert numbers(tmp_path) == [1, 2]


def checkpoint(directory: Path, query_id: str, offsets: str) -> str:
    (directory / "offsets").mkdir(parents=True, exist_ok=True)
    (directory / "metadata").write_text(f'{{"id":"{query_id}"}}')
    (directory / "offsets" / "0").write_text(offsets)
    return str(directory)


def test_a_query_id_that_another_checkpoint_or_other_offsets_use_again(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")

    def written(number: int, query_id: str, offsets: str) -> None:
        given: Any = Frame([number])
        at = checkpoint(tmp_path / "checkpoint", query_id, offsets)
        write_batch(given, lake, 0, name=NAME, query_id=QUERY, checkpoint=at)

    written(1, "one", "planned")
    written(1, "one", "planned")
    with pytest.raises(LakeError, match="from checkpoint one, and this is two"):
        written(2, "two", "planned")
    with pytest.raises(LakeError, match="with other offsets"):
        written(2, "one", "planned anew")
    assert numbers(tmp_path / "lake") == [1]


def test_a_second_call_of_a_batch_is_refused_and_a_replay_is_not(tmp_path: Path) -> None:
    def called(run_id: str, name: str = NAME) -> None:
        properties = {QUERY_ID: QUERY, RUN_ID: run_id}
        given: Any = Frame([1])
        given.sparkSession = SimpleNamespace(_sc=SimpleNamespace(getLocalProperty=properties.get))
        write_batch(given, str(tmp_path), 0, name=name)

    for run_id in ("first", "second"):
        called(run_id)
        with pytest.raises(LakeError, match="give each call of write_batch a name of its own"):
            called(run_id)
        called(run_id, "another")
    assert numbers(tmp_path) == [1, 1]


def test_nothing_is_replaced(tmp_path: Path) -> None:
    write(Frame([1]), tmp_path)
    (tmp_path / "_tidelog" / "manifests" / NAME / "0.json").unlink()
    with pytest.raises(LakeError, match="part 0 of batch 0 of orders is in the archive already, and in no manifest"):
        write(Frame([2]), tmp_path)
    assert numbers(tmp_path) == [1]


def test_rows_and_topics_do_not_share_a_directory(tmp_path: Path) -> None:
    committer = partial(Committer, name="topics")
    empty = ArchivedRange("t", None, 0, 0, 5, 0, 0, None, None, None)
    write(Frame([1]), tmp_path / "rows")
    with pytest.raises(LakeError, match="an archive of topics can not go where rows of batches is"):
        committer(LocalFiles(str(tmp_path / "rows"))).commit(0, [empty])
    (tmp_path / "topics" / "topic=t").mkdir(parents=True)
    with pytest.raises(LakeError, match=r"rows of batches can not go where an archive of topics is \(topic=t"):
        write(Frame([1]), tmp_path / "topics")


@pytest.mark.parametrize("name", ["_orders", "a/b", "", "."])
def test_a_name_that_no_file_can_begin_with(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"^name: "):
        write(Frame([1]), tmp_path, name=name)


@pytest.mark.parametrize(("columns", "said"), [(("a", "A"), "two columns `a`"), ((), "no columns")])
def test_columns_that_spark_could_not_read(tmp_path: Path, columns: Sequence[str], said: str) -> None:
    with pytest.raises(LakeError, match=said):
        write(Frame([1], columns=columns), tmp_path)


def test_no_object_stores_and_no_unknown_query(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"^directory: 's3://bucket/x' is not a directory"):
        write_batch(Frame([1]), "s3://bucket/x", 0, name=NAME, query_id=QUERY)  # type: ignore[arg-type]
    with pytest.raises(SinkError, match=r"it is not known which query writes.*give write_batch a query_id"):
        write(Frame([1]), tmp_path, query_id=None)
