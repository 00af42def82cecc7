"""What is read of a checkpoint, and what is not known where it can not be read."""

from pathlib import Path

import pytest

from pyspark_tidelog.sink.checkpoint import CheckpointBatch, batch_of, local_files, query_id_of
from pyspark_tidelog.sink.decisions import Origin
from pyspark_tidelog.sink.options import decode_origin, encode_origin

OFFSETS = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":%d,"conf":{}}\n{"orders":{"0":3,"1":4},"stock":{"0":1}}\n-\n17'


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    found = tmp_path / "check point"
    (found / "offsets").mkdir(parents=True)
    (found / "metadata").write_text('{"id":"the query"}')
    (found / "offsets" / "3").write_text(OFFSETS % 1)
    return found


def test_a_batch_of_a_checkpoint(directory: Path) -> None:
    files = local_files(str(directory))
    assert query_id_of(files) == "the query"
    found = batch_of(files, 3, "the query")
    assert found.origin.checkpoint_id == "the query"
    assert len(found.origin.digest) == 32
    assert found.source_topics == ("orders", "stock")
    assert batch_of(local_files(f"file:{directory}"), 3) == found
    assert batch_of(local_files(f"file://{str(directory).replace(' ', '%20')}"), 3) == found


def test_the_batches_before_it(directory: Path) -> None:
    files = local_files(str(directory))
    assert batch_of(files, 3).former == {}
    digests = {}
    for number in range(2, 12):
        (directory / "offsets" / str(number)).write_text(OFFSETS % number)
        digests[number] = batch_of(files, number).origin.digest
    assert batch_of(files, 11).former == {number: digests[number] for number in (10, 9, 8, 7)}
    assert batch_of(files, 3).former == {2: digests[2]}
    found = batch_of(files, 11)
    assert decode_origin(encode_origin(found)) == found


def test_a_batch_that_was_planned_anew_is_another(directory: Path) -> None:
    files = local_files(str(directory))
    before = batch_of(files, 3)
    (directory / "offsets" / "3").write_text(OFFSETS % 2)
    assert batch_of(files, 3).origin != before.origin


def test_what_can_not_be_read_is_not_known(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert batch_of(local_files(str(directory)), 4, "the query") == CheckpointBatch(Origin("the query"))
    for location in (None, "", str(directory / "nowhere"), "s3a://bucket/checkpoint", "hdfs:///checkpoint"):
        assert batch_of(local_files(location), 3, "q") == CheckpointBatch(Origin("q"))
        assert batch_of(local_files(location), 3) == CheckpointBatch()
    assert batch_of(local_files(str(directory)), 3, "another") == CheckpointBatch(Origin("another"))
    assert "the checkpoint is of query the query" in caplog.text
    (directory / "metadata").write_text("[]")
    assert query_id_of(local_files(str(directory))) == ""
