"""Arrow columns from decoded rows: nulls of every pattern, constants that are made once, and where batches are cut."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from tests.unit.records.raw import batch, content, field, record, varint

from pyspark_tidelog.source import columns as arrow_columns
from pyspark_tidelog.source.columns import ArrowColumns
from tidelog.records.kernels_decode import Columns, decode


def decoded(*batches: bytes) -> Columns:
    data = b"".join(batches)
    return decode(data, 0, len(data), 0, 1 << 60, 1000, True)


def rows_of(values: list[bytes | None], keys: list[bytes | None] | None = None, attributes: int = 0) -> bytes:
    pairs = zip(keys or [None] * len(values), values, strict=True)
    parts = [record(content(varint(at), key=field(key), value=field(value))) for at, (key, value) in enumerate(pairs)]
    return batch(*parts, attributes=attributes)


def column(name: str, columns: Columns) -> list[Any]:
    arrow = ArrowColumns("t", 1, (name,))
    return [value for each in arrow.record_batches(columns) for value in each.column(0).to_pylist()]


@pytest.mark.parametrize(
    "values",
    [[b"a", b"", b"ccc"], [None, b"b", None], [None, None], [b"x" * 300, None]],
    ids=["none", "some", "all", "long"],
)
def test_keys_values_and_sizes_with_nulls(values: list[bytes | None]) -> None:
    backwards = values[::-1]
    columns = decoded(rows_of(values, backwards), rows_of([b"plain"], [b"key"]))
    assert column("value", columns) == [*values, b"plain"]
    assert column("key", columns) == [*backwards, b"key"]
    assert column("value_size", columns) == [None if each is None else len(each) for each in [*values, b"plain"]]


def test_timestamp_types_that_differ_within_a_fetch() -> None:
    created, stamped = rows_of([b"a", b"b"]), rows_of([b"c"], attributes=8)
    assert column("timestampType", decoded(created)) == [0, 0]
    assert column("timestampType", decoded(stamped)) == [1]
    assert column("timestampType", decoded(created, stamped)) == [0, 0, 1]


def test_constants_and_nulls_are_shared_between_batches() -> None:
    arrow = ArrowColumns("t", 1, ("topic", "partition", "key", "headers", "timestampType"))
    first, second = (next(arrow.record_batches(decoded(rows_of([b"a"] * n)))) for n in (3, 5))
    assert first.to_pylist()[0] == {"topic": "t", "partition": 1, "key": None, "headers": None, "timestampType": 0}
    for index in range(first.num_columns):
        ours, theirs = first.column(index).buffers()[-1], second.column(index).buffers()[-1]
        assert (ours and ours.address) == (theirs and theirs.address)


def test_nothing_is_built_that_was_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_arguments: object) -> None:
        raise AssertionError("copied")

    monkeypatch.setattr(arrow_columns, "_fields", never)
    names = ("offset", "timestamp", "topic")
    (found,) = ArrowColumns("t", 1, names).record_batches(decoded(rows_of([b"a"])))
    assert found.schema.names == list(names)


@pytest.fixture
def _fresh_constants() -> Iterator[None]:
    """They are as long as the largest batch: who changes that leaves none behind."""
    cached = (arrow_columns._every_fourth, arrow_columns._constant, arrow_columns._nulls)
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


@pytest.mark.usefixtures("_fresh_constants")
def test_batches_are_cut_by_bytes_and_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_columns, "BATCH_BYTES", 1_000)
    monkeypatch.setattr(arrow_columns, "BATCH_ROWS", 4)
    arrow = ArrowColumns("t", 1, ("value", "offset", "timestamp", "timestampType"))
    values: list[bytes | None] = [b"a", b"b" * 2_000, *[b"c" * 400] * 3, *[None] * 9]
    found = list(arrow.record_batches(decoded(rows_of(values))))
    assert [each.num_rows for each in found] == [2, 3, 4, 4, 1]
    for each in found:
        each.validate(full=True)
    table = pa.Table.from_batches(found)
    assert table["value"].to_pylist() == values
    assert table["offset"].to_pylist() == list(range(1000, 1014))


def test_header_keys_that_are_not_utf_8_are_replaced_as_java_does() -> None:
    pair = varint(2) + field(b"\xff!") + field(None) + field("ü".encode()) + field(b"\xfe")
    columns = decoded(batch(record(content(headers=pair)), record(content(varint(1)))))
    assert column("headers", columns) == [[{"key": "\ufffd!", "value": None}, {"key": "ü", "value": b"\xfe"}], None]


def test_times_are_in_microseconds() -> None:
    (found,) = ArrowColumns("t", 1, ("timestamp",)).record_batches(decoded(rows_of([b"a"])))
    assert found.column(0).cast(pa.int64()).to_pylist() == [1_700_000_000_000_000]
