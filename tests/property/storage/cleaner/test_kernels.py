"""The kernels of compaction, compiled and interpreted, and both against objects: the same digests, the same choice."""

import importlib.util
from types import ModuleType

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog._compiled import source_path
from tidelog.records import kernels_compact
from tidelog.records.batch import read_batch
from tidelog.records.builder import BatchBuilder, BatchOptions, seal_batch
from tidelog.records.header import DELETE_HORIZON_FLAG
from tidelog.records.record import Header, Record


def interpreted() -> ModuleType:
    spec = importlib.util.spec_from_file_location("interpreted_compact", source_path(kernels_compact.__name__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNELS: list[ModuleType] = [kernels_compact, interpreted()]
MAX_TIME = 2**62
keys = st.none() | st.binary(max_size=20)
headers = st.lists(st.builds(Header, st.text(max_size=2), st.none() | st.binary(max_size=2)), max_size=2).map(tuple)
rows = st.lists(
    st.tuples(
        st.integers(1, 100),
        st.integers(-1, MAX_TIME),
        st.sampled_from([b"a", b"b"]) | keys,
        st.none() | st.binary(),
        headers,
    ),
    min_size=1,
    max_size=12,
)


def batch_of(rows: list[tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]], stamped: bool) -> bytes:
    builder = BatchBuilder(1000, options=BatchOptions(log_append_time=77 if stamped else None))
    offset = 999
    for gap, timestamp, key, value, found in rows:
        offset += gap
        builder.append_record(Record(offset, timestamp, key, value, found))
    return builder.build()


@given(st.binary(max_size=40), st.binary(min_size=16, max_size=16))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_digest_is_the_same_both_ways(key: bytes, seed: bytes) -> None:
    found = []
    for kernels in KERNELS:
        table = kernels.OffsetTable(5, 2, seed)
        table.digest(key, 0, len(key))
        found.append((int(table.digest_0), int(table.digest_1)))
    assert found[0] == found[1]


@given(rows, st.booleans(), st.booleans(), st.integers(0, 1200), st.integers(0, 1200), st.integers(1, 8), st.integers())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_what_is_kept_of_a_batch(
    rows: list[tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]],
    stamped: bool,
    keep_tombstones: bool,
    lower: int,
    keep_offset: int,
    limit: int,
    horizon: int,
) -> None:
    data = batch_of(rows, stamped)
    batch = read_batch(data)
    assert batch is not None
    records = list(batch.records())
    for kernels in KERNELS:
        table = kernels.OffsetTable(11, limit, bytes(16))
        body = kernels.plain_body(data, 0, len(data))
        table.latest = batch.header.last_offset
        complete = kernels.map_keys(table, body, lower)
        latest, expected_end = mapped(records, lower, limit)
        assert complete == (expected_end is None)
        assert table.latest == (batch.header.last_offset if expected_end is None else expected_end)
        selection = kernels.select(table, body, keep_tombstones, keep_offset)
        kept = [r for r in records if is_kept(r, latest, int(table.latest), keep_tombstones, keep_offset)]
        assert selection.records == len(kept)
        if kept:
            check_rewritten(kernels, body, selection, kept, data, abs(horizon) % 2**62)


def mapped(records: list[Record], lower: int, limit: int) -> tuple[dict[bytes, int], int | None]:
    """Return the last offset of each key, and the last offset before the first key for which there was no room."""
    latest: dict[bytes, int] = {}
    for record in records:
        if record.offset < lower or record.key is None:
            continue
        if record.key not in latest and len(latest) == limit:
            return latest, record.offset - 1
        latest[record.key] = record.offset
    return latest, None


def is_kept(record: Record, latest: dict[bytes, int], end: int, keep_tombstones: bool, keep_offset: int) -> bool:
    if record.offset > end:
        return True
    if record.key is None or latest.get(record.key, -1) > record.offset:
        return False
    return record.value is not None or keep_tombstones or record.offset == keep_offset


def check_rewritten(
    kernels: ModuleType, body: object, selection: object, kept: list[Record], original: bytes, horizon: int
) -> None:
    """Check that both ways to write the kept records read back as those records."""
    batch = read_batch(original)
    assert batch is not None
    header = batch.header
    header.records_count = len(kept)
    copied = read_batch(seal_batch(header, kernels.copy_records(body, selection)))
    assert copied is not None
    assert list(copied.records()) == kept
    header.attributes |= DELETE_HORIZON_FLAG
    header.base_timestamp = horizon
    rebased = read_batch(seal_batch(header, kernels.rebase_records(body, selection, horizon)))
    assert rebased is not None
    assert list(rebased.records()) == kept
