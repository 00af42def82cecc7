"""Offsets loaded from a log in runs, against the general codec record by record: both give the same offsets, whatever
is in the log."""

from collections.abc import Sequence
from typing import Any

import pytest

from tidelog.coordinator.group.offset_bytes import commit_key_bytes, commit_value_bytes
from tidelog.coordinator.group.offsets.loading import load_offsets
from tidelog.coordinator.group.offsets.offsets import Offsets
from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.record_framing import decode_record, encode_key, encode_value
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.errors import ProtocolError
from tidelog.records.builder import BatchBuilder
from tidelog.records.header import MAX_INT64
from tidelog.records.kernels_decode import Columns, decode

TOPIC_ID = Uuid(b"0123456789abcdef")
Row = tuple[bytes, bytes | None]


def columns_of(rows: Sequence[Row]) -> Columns:
    builder = BatchBuilder(limit_bytes=1 << 24)
    for key, value in rows:
        builder.append(1_000, key, value)
    data = builder.build()
    return decode(data, 0, len(data), 0, MAX_INT64, 1, True)


def key(group: str = "g", topic: str = "t", partition: int = 0) -> bytes:
    return encode_key(OffsetCommitKey(group=group, topic=topic, partition=partition))


def value(offset: int = 7, version: int = 4, **fields: Any) -> bytes:
    given = {"metadata": "", "commit_timestamp": 99, "topic_id": TOPIC_ID, "leader_epoch": 3, **fields}
    encoded = encode_value(OffsetCommitValue(offset=offset, **given), version)
    assert encoded is not None
    return encoded


def loaded(rows: list[Row]) -> tuple[dict[str, Any], list[int]]:
    """Load the rows; return the offsets in the end, and the rows that were no part of a run."""
    columns, offsets = columns_of(rows), Offsets()
    row, others = 0, []
    while row < len(rows):
        run, after = load_offsets(columns, row, len(rows))
        offsets.replay_loaded(run)
        if after == row:
            found = decode_record(GROUP_RECORDS, *rows[row])
            offsets.replay(found.key, found.value)
            others.append(row)
            after += 1
        row = after
    return offsets.printed(), others


def one_by_one(rows: list[Row]) -> dict[str, Any]:
    offsets = Offsets()
    for each in rows:
        found = decode_record(GROUP_RECORDS, *each)
        offsets.replay(found.key, found.value)
    return offsets.printed()


USUAL: list[Row] = [
    (key(partition=0), value(1)),
    (key(partition=1), value(2, metadata="where I was")),
    (key(topic="u"), value(3, topic_id=ZERO_UUID)),
    (key(group="\u00e4", topic="\u00f6"), value(4, metadata="\u00fc" * 63)),
    (key(partition=0), value((1 << 63) - 1, leader_epoch=-1)),
    (key(group="", topic=""), value(-1, metadata="m" * 126)),
    (key(partition=(1 << 31) - 1), value(0, commit_timestamp=-1)),
]
OTHERS: dict[str, Row] = {
    "a tombstone": (key(partition=0), None),
    "version 0": (key(), value(5, 0)),
    "version 1": (key(), value(5, 1, expire_timestamp=12)),
    "version 3": (key(), value(5, 3, metadata="old")),
    "long metadata": (key(), value(5, metadata="m" * 127)),
}


def test_a_run_of_the_usual() -> None:
    assert loaded(USUAL) == (one_by_one(USUAL), [])


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_unusual_ends_a_run(name: str) -> None:
    rows = [*USUAL, OTHERS[name], *USUAL[::-1], OTHERS[name]]
    assert loaded(rows) == (one_by_one(rows), [len(USUAL), 2 * len(USUAL) + 1])


def test_the_first_commit_of_each_group_is_told() -> None:
    rows = [(key(group, partition=at), value(1, commit_timestamp=at)) for at, group in enumerate("aabca")]
    run, after = load_offsets(columns_of(rows), 0, 5)
    assert (run.groups, after) == ({"a": 0, "b": 2, "c": 3}, 5)


def test_a_run_ends_where_it_is_told_to() -> None:
    run, after = load_offsets(columns_of(USUAL), 2, 4)
    assert (len(run.rows), after) == (2, 4)


@pytest.mark.parametrize("at", range(len(key(group="gg", topic="tt")) + 1))
def test_a_key_that_is_cut_is_no_part_of_a_run(at: int) -> None:
    whole = key(group="gg", topic="tt")
    row = (whole[:at], value())
    run, after = load_offsets(columns_of([row, row]), 0, 2)
    assert (len(run.rows), after) == ((2, 2) if at == len(whole) else (0, 0))


@pytest.mark.parametrize("at", range(len(value(metadata="mm")) + 1))
def test_a_value_that_is_cut_is_no_part_of_a_run(at: int) -> None:
    whole = value(metadata="mm")
    row = (key(), whole[:at])
    run, after = load_offsets(columns_of([row, row]), 0, 2)
    assert (len(run.rows), after) == ((2, 2) if at == len(whole) else (0, 0))


@pytest.mark.parametrize("text", [b"\xff", b"\xc3"])
def test_texts_that_are_none_are_left_to_the_codec(text: bytes) -> None:
    for row in ((key(group="g").replace(b"g", text), value()), (key(), value(metadata="m").replace(b"m", text))):
        assert load_offsets(columns_of([row]), 0, 1)[1] == 0
        with pytest.raises(ProtocolError):
            decode_record(GROUP_RECORDS, *row)


@pytest.mark.parametrize("metadata", ["", "m", "m" * 126])
@pytest.mark.parametrize("topic_id", [TOPIC_ID, ZERO_UUID])
def test_what_the_quick_commit_writes_is_what_the_codec_would(metadata: str, topic_id: Uuid) -> None:
    assert commit_key_bytes("g", "t", 5) == key("g", "t", 5)
    written = commit_value_bytes(8, 2, metadata.encode(), 77, topic_id)
    assert written == value(8, metadata=metadata, topic_id=topic_id, commit_timestamp=77, leader_epoch=2)
    assert commit_value_bytes(8, 2, b"m" * 127, 77, topic_id) is None
    assert commit_key_bytes("g" * 40_000, "t", 0) is None
