"""What Spark tells a function of `foreachBatch`, and what is known where it tells less."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_tidelog.sink.checkpoint import CheckpointBatch
from pyspark_tidelog.sink.decisions import Origin
from pyspark_tidelog.spark import batches as spark_batches
from pyspark_tidelog.spark.batches import run_of_process, running_batch
from pyspark_tidelog.spark.job_properties import QUERY_ID, RUN_ID

QUERY = "11111111-2222-3333-4444-555555555555"


class Path_:
    """A path of Hadoop's, whose file system is a dictionary."""

    files: dict[str, bytes] = {}  # noqa: RUF012

    def __init__(self, name: str) -> None:
        self.name = name

    def getFileSystem(self, _conf: object) -> "Path_":
        return self

    def open(self, path: "Path_") -> Any:
        if path.name not in self.files:
            raise AttributeError("no such file")
        return SimpleNamespace(content=self.files[path.name], close=lambda: None)


def session(root: str | None, properties: dict[str, str]) -> Any:
    """As much of one as is asked: the running queries, and Hadoop."""
    query = SimpleNamespace(resolvedCheckpointRoot=lambda: root, runId=lambda: SimpleNamespace(toString=lambda: "run"))
    queries = {} if root is None else {QUERY: query}
    return SimpleNamespace(
        _sc=SimpleNamespace(getLocalProperty=properties.get),
        _jsparkSession=SimpleNamespace(
            sharedState=lambda: SimpleNamespace(activeStreamingQueries=lambda: queries),
            sessionState=lambda: SimpleNamespace(newHadoopConf=lambda: None),
        ),
        _jvm=SimpleNamespace(
            java=SimpleNamespace(util=SimpleNamespace(UUID=SimpleNamespace(fromString=str))),
            org=SimpleNamespace(
                apache=SimpleNamespace(
                    hadoop=SimpleNamespace(fs=SimpleNamespace(Path=Path_)),
                    commons=SimpleNamespace(
                        io=SimpleNamespace(IOUtils=SimpleNamespace(toByteArray=lambda opened: opened.content))
                    ),
                )
            ),
        ),
    )


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "metadata").write_text(f'{{"id":"{QUERY}"}}')
    (tmp_path / "offsets" / "7").write_text('v1\n{}\n{"orders":{"0":1}}')
    return str(tmp_path)


def test_a_query_of_this_session(checkpoint: str) -> None:
    found = running_batch(session(f"file:{checkpoint}", {QUERY_ID: QUERY}), 7)
    assert (found.query_id, found.run_id) == (QUERY, "run")
    assert found.found.origin.checkpoint_id == QUERY
    assert found.found.origin.digest
    assert found.found.source_topics == ("orders",)


def test_a_checkpoint_that_only_spark_can_read(checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    local = running_batch(session(checkpoint, {QUERY_ID: QUERY}), 7)
    root = "s3a://bucket/checkpoint"
    files = {f"{root}/{name}": (Path(checkpoint) / name).read_bytes() for name in ("metadata", "offsets/7")}
    monkeypatch.setattr(Path_, "files", files)
    assert running_batch(session(root, {QUERY_ID: QUERY}), 7) == local
    assert running_batch(session(root, {QUERY_ID: QUERY}), 8).found == CheckpointBatch(Origin(QUERY))


def test_a_query_that_the_session_does_not_show(checkpoint: str) -> None:
    hidden = session(None, {QUERY_ID: QUERY, RUN_ID: "group"})
    found = running_batch(hidden, 7)
    assert (found.query_id, found.run_id, found.found) == (QUERY, "group", CheckpointBatch(Origin(QUERY)))
    assert running_batch(hidden, 7, checkpoint).found.origin.digest


def test_without_a_query_a_process_is_a_run(checkpoint: str) -> None:
    found = running_batch(SimpleNamespace(), 7)  # type: ignore[arg-type] # as a client of Spark Connect
    assert found == (None, run_of_process(os.getpid()), CheckpointBatch())
    told = running_batch(SimpleNamespace(), 7, checkpoint)  # type: ignore[arg-type]
    assert told.query_id is None
    assert told.found.origin.checkpoint_id == QUERY
    assert spark_batches.run_of_process(1) != spark_batches.run_of_process(2)
