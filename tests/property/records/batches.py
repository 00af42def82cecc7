"""Strategies for batches, and a decoder so simple that it is obviously right about valid ones."""

from io import BytesIO
from struct import unpack_from

from hypothesis import strategies as st
from tests.unit.records.raw import batch, field, varint

fields = st.none() | st.binary(max_size=40) | st.binary(min_size=60, max_size=70) | st.just(b"x" * 9000)
headers = st.lists(st.tuples(st.binary(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)
timestamp_deltas = st.integers(-300, 300) | st.integers(-(2**40), 2**40)
records = st.tuples(st.integers(1, 3) | st.integers(1, 9000), timestamp_deltas, fields, fields, headers)
Record = tuple[int, int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]


def record_bytes(offset_delta: int, record: Record) -> bytes:
    _, timestamp_delta, key, value, pairs = record
    content = b"\0" + varint(timestamp_delta) + varint(offset_delta) + field(key) + field(value) + varint(len(pairs))
    content += b"".join(field(name) + field(text) for name, text in pairs)
    return varint(len(content)) + content


@st.composite
def plain_batches(draw: st.DrawFn, base_offset: int = 1000, max_size: int = 6) -> bytes:
    """Draw a batch with gaps between offsets, as after compaction. The first step is one less than drawn, so that it
    can be 0."""
    delta, parts = -1, []
    for record in draw(st.lists(records, max_size=max_size)):
        delta += record[0]
        parts.append(record_bytes(delta, record))
    return batch(
        *parts,
        base_offset=base_offset,
        last_offset_delta=max(0, delta) + draw(st.integers(0, 2)),
        attributes=draw(st.sampled_from([0, 0x08, 0x10, 0x40])),
        base_timestamp=draw(st.integers(-1, 2**45)),
        max_timestamp=draw(st.integers(-1, 2**45)),
    )


Row = tuple[int, int, bytes | None, bytes | None]


def reference_rows(buffer: bytes) -> list[Row]:
    """Return the rows of valid, plain batches."""
    rows: list[Row] = []
    position = 0
    while position < len(buffer):
        base, length = unpack_from(">qi", buffer, position)
        (attributes,) = unpack_from(">h", buffer, position + 21)
        base_timestamp, max_timestamp = unpack_from(">qq", buffer, position + 27)
        (count,) = unpack_from(">i", buffer, position + 57)
        stream = BytesIO(buffer[position + 61 : position + 12 + length])
        for _ in range(count):
            _number(stream)
            stream.read(1)
            timestamp = base_timestamp + _number(stream)
            offset = base + _number(stream)
            rows.append((offset, max_timestamp if attributes & 8 else timestamp, _field(stream), _field(stream)))
            for _ in range(2 * _number(stream)):
                _field(stream)
        position += 12 + length
    return rows


def _number(stream: BytesIO) -> int:
    raw = shift = 0
    while True:
        (byte,) = stream.read(1)
        raw |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return raw // 2 if raw % 2 == 0 else -(raw // 2) - 1


def _field(stream: BytesIO) -> bytes | None:
    length = _number(stream)
    return None if length < 0 else stream.read(length)
