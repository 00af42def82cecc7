"""Lag out of what Spark reports."""

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_tidelog.source.progress import lag, parse_reported
from tidelog.model.ids import TopicPartition


def source(end: object, latest: object) -> dict[str, object]:
    return {"description": "Python", "endOffset": end, "latestOffset": latest}


PROGRESS = {
    "sources": [
        source({"t": {"0": 10, "1": 5}}, {"t": {"0": 15, "1": 5, "2": 7}}),
        source('{"u": {"0": 1}}', '{"u": {"0": 4}}'),  # as the classes of PySpark show it
        source({"logOffset": 3}, {"logOffset": 4}),  # Spark's file source
        source(7, 8),  # the rate source
        source({"v": {"0": 1}}, None),  # PySpark 4.1 does not report where the log ends
    ]
}
LAG = {TopicPartition("t", 0): 5, TopicPartition("t", 1): 0, TopicPartition("t", 2): 7, TopicPartition("u", 0): 3}


@pytest.mark.parametrize(
    "progress", [PROGRESS, json.dumps(PROGRESS), cast(Any, SimpleNamespace(json=json.dumps(PROGRESS)))]
)
def test_lag_by_partition(progress: Any) -> None:
    assert lag(progress) == LAG


def test_no_progress_has_no_lag() -> None:
    assert lag(None) == {}
    assert lag({"sources": []}) == {}


@pytest.mark.parametrize(
    "reported", [None, "", "not json", "[]", "3", '{"t": 3}', '{"t": {"x": 1}}', '{"t": {"0": "a"}}']
)
def test_offsets_of_others_are_none(reported: object) -> None:
    assert parse_reported(reported) is None
