"""Records as the coordinators' own encoder writes them are those of the builder, byte for byte; and Java's hashes."""

import pytest

from tidelog.records.builder import BatchBuilder
from tidelog.records.header import BATCH_OVERHEAD
from tidelog.server.coordinator_bytes import RECORD_OVERHEAD, encode_records
from tidelog.server.coordinator_family import java_hash


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
        ("\U0001f600", 1_772_899),  # two units of UTF-16
        ("polygenelubricants", 0),  # the one hash without an absolute value
    ],
)
def test_hashes_are_javas(text: str, expected: int) -> None:
    assert java_hash(text) == expected
