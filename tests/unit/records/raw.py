"""Batches put together by hand, valid or not, without the code under test; only the checksum library is shared."""

from struct import pack

from crc32c import crc32c

BASE_OFFSET = 1000
BASE_TIMESTAMP = 1_700_000_000_000


def zigzag(value: int) -> int:
    return value * 2 if value >= 0 else -value * 2 - 1


def varint(value: int, pad_to: int = 0) -> bytes:
    """Encode a varint; `pad_to` makes it longer than it needs to be."""
    raw, out = zigzag(value), bytearray()
    while raw >= 128 or len(out) < pad_to - 1:
        out.append(raw & 127 | 128)
        raw >>= 7
    return bytes(out) + bytes([raw])


def field(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def record(content: bytes, length: int | None = None) -> bytes:
    return varint(len(content) if length is None else length) + content


def content(
    offset_delta: bytes = b"\0",
    timestamp_delta: bytes = b"\0",
    key: bytes = field(b"k"),
    value: bytes = field(b"v"),
    headers: bytes = b"\0",
) -> bytes:
    """Return the inside of a record. Every part is raw bytes, so that any of them can be wrong."""
    return b"\0" + timestamp_delta + offset_delta + key + value + headers


def batch(
    *records: bytes,
    count: int | None = None,
    base_offset: int = BASE_OFFSET,
    length: int | None = None,
    magic: int = 2,
    attributes: int = 0,
    last_offset_delta: int | None = None,
    base_timestamp: int = BASE_TIMESTAMP,
    max_timestamp: int = BASE_TIMESTAMP,
    crc: int | None = None,
) -> bytes:
    body = b"".join(records)
    count = len(records) if count is None else count
    delta = max(0, len(records) - 1) if last_offset_delta is None else last_offset_delta
    checked = pack(">hiqqqhii", attributes, delta, base_timestamp, max_timestamp, -1, -1, -1, count) + body
    crc = crc32c(checked) if crc is None else crc
    length = len(checked) + 9 if length is None else length
    return pack(">qiibI", base_offset, length, 7, magic, crc) + checked


GOOD = batch(record(content()), record(content(varint(1))))
