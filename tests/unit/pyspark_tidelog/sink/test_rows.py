"""Rows dealt out by topic and named by their place."""

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink.rows import by_topic, gathered, refusal


def batch(*topics: str | None) -> pa.RecordBatch:
    values = [b"x" * (10 * number + 1) for number in range(len(topics))]
    return pa.record_batch({"value": pa.array(values, pa.binary()), "topic": pa.array(topics, pa.string())})


def test_small_batches_are_put_together_and_empty_ones_left_out() -> None:
    one = batch("a", "b")
    assert [each.num_rows for each in gathered([one, batch(), one, one], 2 * one.nbytes)] == [4, 2]
    assert [each.num_rows for each in gathered([one], 1 << 20)] == [2]
    assert list(gathered([batch()])) == []


def test_rows_by_topic_keep_their_order_and_their_numbers() -> None:
    found = {each.topic: each for each in by_topic(batch("a", "b", "a"), None, 0, 100)}
    assert found["a"].batch.schema.names == ["value"]
    assert [len(value) for value in found["a"].batch["value"].to_pylist()] == [1, 21]
    assert found["a"].numbers.to_pylist() == [100, 102]
    assert found["b"].numbers.to_pylist() == [101]
    (only,) = by_topic(batch("a", "b"), "c", 0, 100)
    assert (only.topic, only.first, only.numbers, only.batch.num_rows) == ("c", 100, None, 2)


def test_a_null_topic_is_named_by_its_row() -> None:
    with pytest.raises(SinkError, match=r"^the topic of row 102 is null \(task 7, row 102\); give every row a topic"):
        list(by_topic(batch("a", "b", None, None), None, 7, 100))


def test_refused_rows_are_named() -> None:
    found = {each.topic: each for each in by_topic(batch("a", "b", "a", "a"), None, 3, 100)}
    rows = pa.array([0, 1, 2], pa.int64())
    large = refusal(found["a"], rows, "TOO LARGE", "do less", is_too_large=True, task=3)
    assert str(large).startswith("row 103 of task 3 (31 bytes of key and value) is too large for topic a: TOO LARGE")
    assert str(large).endswith("(task 3, row 103, topic a); do less")
    other = refusal(found["a"], rows, "NO", "", is_too_large=False, task=3)
    assert str(other) == "3 rows from 100 to 103 of task 3 not written: NO (task 3, row 100, topic a)"
