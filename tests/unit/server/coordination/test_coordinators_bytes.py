"""The coordinators' own encoder gives the builder's records, byte for byte; and Java's string hashes."""

import pytest

from tidelog.records.builder import BatchBuilder
from tidelog.records.compression import CompressionType, compress
from tidelog.records.header import BATCH_OVERHEAD
from tidelog.server.coordination.batch_bytes import RECORD_OVERHEAD, encode_records
from tidelog.server.coordination.batches import Draft
from tidelog.server.coordination.family import java_hash


@pytest.mark.parametrize("size", [0, 1, 50, 63, 64, 65, 8_150, 8_191, 8_192, 70_000])
@pytest.mark.parametrize("count", [1, 2, 70])
def test_records_are_what_the_builder_writes(size: int, count: int) -> None:
    keys = [bytes([index]) * (size // 2) for index in range(count)]
    values: list[bytes | None] = [None if index % 3 == 1 else bytes([index]) * size for index in range(count)]
    builder = BatchBuilder()
    for key, value in zip(keys, values, strict=True):
        builder.append(77, key, value)
    encoded = encode_records(keys, values)
    assert encoded == builder.build()[BATCH_OVERHEAD:]
    assert len(encoded) <= sum(RECORD_OVERHEAD + len(each or b"") for each in values) + sum(map(len, keys))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("a", 97),
        ("foo", 101_574),
        ("BB", 2_112),
        ("console-consumer-12345", 158_455_506),
        ("\U0001f600", 1_772_899),  # two code units of UTF-16
        ("polygenelubricants", 0),  # hashes to the minimum, which has no absolute value
    ],
)
def test_hashes_are_javas(text: str, expected: int) -> None:
    assert java_hash(text) == expected


@pytest.mark.parametrize(("records", "level"), [(10, None), (5_000, 1)])
def test_a_large_batch_is_compressed_quickly_where_the_codec_is_slow(records: int, level: int | None) -> None:
    """gzip at its default level takes longer than a turn for a megabyte, so a large batch gets a quicker level."""
    draft = Draft()
    for number in range(records):
        draft.add((b"key %d" % number, b"value %d" % number * 3, 60))
    body = encode_records(draft.keys, draft.values)
    built = draft.build(1_000, CompressionType.GZIP)
    assert built[BATCH_OVERHEAD:] == compress(CompressionType.GZIP, body, level)
    assert built[BATCH_OVERHEAD:] != compress(CompressionType.GZIP, body, 1 if level is None else None)
