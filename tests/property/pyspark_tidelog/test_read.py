"""Whatever is in the log, a task gets exactly the rows of its range, however the fetches cut it."""

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.pyspark_tidelog.made_logs import MadeLog, logs
from tests.unit.client.fetch_log import TOPIC_ID

from pyspark_tidelog.kafka.settings import ClusterOptions, FetchSettings
from pyspark_tidelog.source import columns as arrow_columns
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.record_batches import batches_of
from pyspark_tidelog.source.schema import COLUMNS, arrow_schema
from tidelog.client.arrow import fetched_columns

CLUSTER = ClusterOptions("nobody:1", "me", 1_000, 1_000, None)


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the buffers and batches so small that a handful of records takes several."""
    monkeypatch.setattr(fetched_columns, "BUFFER_BYTES", 300)
    monkeypatch.setattr(arrow_columns, "BATCH_BYTES", 400)
    monkeypatch.setattr(arrow_columns, "BATCH_ROWS", 5)


@settings(max_examples=80, deadline=None)
@given(made=logs(), data=st.data())
def test_exactly_the_rows_of_the_range(made: MadeLog, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, made.log.end))
    end = data.draw(st.integers(start, made.log.end))
    names = tuple(data.draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, unique=True)))
    fetch = FetchSettings(
        partition_bytes=data.draw(st.sampled_from([1, 200, 1 << 20])), read_committed=data.draw(st.booleans())
    )
    task = FetchTask(CLUSTER, fetch, "orders", TOPIC_ID, 3, start, end, names, True)
    found = list(batches_of(task, made.log.client(), made.log.open_link))
    for batch in found:
        batch.validate(full=True)
        assert batch.schema.equals(arrow_schema(names))
        assert batch.num_rows
    table = pa.Table.from_batches(found, arrow_schema(names))
    if "timestamp" in names:
        at = names.index("timestamp")
        table = table.set_column(at, "timestamp", table["timestamp"].cast(pa.int64()))
    rows = made.visible(read_committed=fetch.read_committed)
    expected = [{name: row[name] for name in names} for row in rows if start <= row["offset"] < end]
    assert table.to_pylist() == expected
