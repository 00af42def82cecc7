"""Kernels, the part of compaction: which record is the last of its key. Compiled by mypyc; the same file runs
interpreted. The rules are those of `kernels_decode`.

The table holds a digest of each key and the last offset it was seen at, 24 bytes an entry, as Apache's does. The digest
is SipHash-2-4 with 128 bits of output (126 are kept: the sign bits go, so that both ways of running agree on every
value). Two keys with one digest would cost the older one its value, so:

- by chance it does not happen: among ten million keys the odds are 10^14 / 2^127, or one in 10^24;
- on purpose it can not be done either, as long as the 16 bytes of `seed` are secret and drawn anew for each cleaning.
  (Apache's MD5 has no secret, and colliding keys for it are made in seconds.)

SipHash computes modulo 2^64. Compiled, `i64` does that by itself; interpreted, every sum and shift has to be cut to 64
bits. `WORD` is the mask that does both: all ones as a signed word, or as a Python integer.
"""

from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_be, read_i64_le
from librt.vecs import append, vec
from mypy_extensions import i64, u8

from tidelog.records.errors import CorruptRecordCountError, CorruptRecordOffsetError
from tidelog.records.kernels_decode import (
    Cursor,
    read_field,
    read_record_end,
    read_timestamp,
    read_varint,
    read_varlong,
    skip_headers,
)
from tidelog.records.kernels_encode import unsigned_size, write_unsigned
from tidelog.records.kernels_head import PLAIN_TIME_MAX, PLAIN_TIME_MIN, RecordHead, read_head
from tidelog.records.kernels_walk import MIN_RECORD_BYTES, OVERHEAD, check_bounds

COMPILED: Final = not __file__.endswith(".py")
WORD: Final = -1 if COMPILED else (1 << 64) - 1
POSITIVE: Final = 0x7FFFFFFFFFFFFFFF
ENTRY_WORDS: Final = 3  # two of the digest, then the offset plus one: 0 is an empty slot
NOT_FOUND: Final = -1
MAX_I64: Final = 0x7FFFFFFFFFFFFFFF


class OffsetTable:
    """A hash table from the digests of keys to their last offsets: open addressing in one buffer; nothing is ever
    removed. `slots` is a prime, so that a second hash as the step from probe to probe reaches every slot; `limit` is
    how many may be taken, and is below `slots`."""

    def __init__(self, slots: i64, limit: i64, seed: bytes) -> None:
        if slots < 2 or limit < 1 or limit >= slots or len(seed) != 16:
            raise ValueError(f"a table of {slots} slots, {limit} of them to be used, with {len(seed)} bytes of seed")
        self.slots = slots
        self.limit = limit
        self.entries: i64 = 0
        self.latest: i64 = -1  # every key up to this offset is in the table
        # Numbers beyond 62 bits are objects in compiled code too: unpacked once, here, and not for each key.
        self.word: i64 = WORD
        self.positive: i64 = POSITIVE
        seed_0: i64 = read_i64_le(seed, 0)
        seed_1: i64 = read_i64_le(seed, 8)
        self.start_0: i64 = (seed_0 ^ 0x736F6D6570736575) & WORD
        self.start_1: i64 = (seed_1 ^ 0x646F72616E646F6D ^ 0xEE) & WORD
        self.start_2: i64 = (seed_0 ^ 0x6C7967656E657261) & WORD
        self.start_3: i64 = (seed_1 ^ 0x7465646279746573) & WORD
        self.digest_0: i64 = 0  # of the key that was looked for last
        self.digest_1: i64 = 0
        words = vec[i64](capacity=ENTRY_WORDS * slots)
        filled: i64 = 0
        while filled < ENTRY_WORDS * slots:
            words = append(words, i64(0))
            filled += 1
        self.words: vec[i64] = words

    def clear(self) -> None:
        words = self.words
        at: i64 = 0
        while at < ENTRY_WORDS * self.slots:
            words[at] = 0
            at += 1
        self.entries = 0
        self.latest = -1

    def digest(self, b: bytes, start: i64, end: i64) -> None:
        """Compute SipHash-2-4-128 of `b[start:end]`. One loop does all rounds, so that the round is written down
        once."""
        word: i64 = self.word
        v0: i64 = self.start_0
        v1: i64 = self.start_1
        v2: i64 = self.start_2
        v3: i64 = self.start_3
        absorbing: i64 = 2 * (((end - start) >> 3) + 1)  # two rounds for each word of the key and for its tail
        length: i64 = end - start
        m: i64 = 0
        r: i64 = 0
        while r < absorbing + 8:
            if r < absorbing:
                if r & 1 == 0:
                    if end - start >= 8:
                        m = read_i64_le(b, start) & word
                        start += 8
                    else:
                        m = (length << 56) & word
                        shift: i64 = 0
                        while start < end:
                            m |= i64(b[start]) << shift
                            shift += 8
                            start += 1
                    v3 ^= m
            elif r == absorbing:
                v2 ^= 0xEE
            elif r == absorbing + 4:
                self.digest_0 = (v0 ^ v1 ^ v2 ^ v3) & self.positive
                v1 ^= 0xDD
            v0 = (v0 + v1) & word
            v1 = (((v1 << 13) | ((v1 >> 51) & 0x1FFF)) & word) ^ v0
            v0 = ((v0 << 32) | ((v0 >> 32) & 0xFFFFFFFF)) & word
            v2 = (v2 + v3) & word
            v3 = (((v3 << 16) | ((v3 >> 48) & 0xFFFF)) & word) ^ v2
            v0 = (v0 + v3) & word
            v3 = (((v3 << 21) | ((v3 >> 43) & 0x1FFFFF)) & word) ^ v0
            v2 = (v2 + v1) & word
            v1 = (((v1 << 17) | ((v1 >> 47) & 0x1FFFF)) & word) ^ v2
            v2 = ((v2 << 32) | ((v2 >> 32) & 0xFFFFFFFF)) & word
            if r & 1 and r < absorbing:
                v0 ^= m
            r += 1
        self.digest_1 = (v0 ^ v1 ^ v2 ^ v3) & self.positive

    def find(self, b: bytes, start: i64, end: i64) -> i64:
        """The index in `words` of the key's entry, or of the empty slot that it would take."""
        self.digest(b, start, end)
        words = self.words
        digest_0: i64 = self.digest_0
        digest_1: i64 = self.digest_1
        slot: i64 = digest_0 % self.slots
        at: i64 = ENTRY_WORDS * slot
        if words[at + 2] == 0 or (words[at] == digest_0 and words[at + 1] == digest_1):
            return at
        step: i64 = 1 + digest_1 % (self.slots - 1)
        while True:
            slot += step
            if slot >= self.slots:
                slot -= self.slots
            at = ENTRY_WORDS * slot
            if words[at + 2] == 0 or (words[at] == digest_0 and words[at + 1] == digest_1):
                return at

    def get(self, key: bytes) -> i64:
        """The last offset of a key, or -1."""
        return self.words[self.find(key, 0, len(key)) + 2] - 1

    def put(self, b: bytes, start: i64, end: i64, offset: i64) -> bool:
        """Set the last offset of a key; False where the key is new and the table is as full as it may get."""
        at: i64 = self.find(b, start, end)
        words = self.words
        if words[at + 2] == 0:
            if self.entries >= self.limit:
                return False
            self.entries += 1
            words[at] = self.digest_0
            words[at + 1] = self.digest_1
        words[at + 2] = offset + 1
        return True


class BatchBody:
    """The plain records of one batch, `data[start:end]`, and what its header (at `p` of `b`) says about them. The two
    buffers are the same unless the batch is compressed."""

    def __init__(self, b: bytes, p: i64, data: bytes, start: i64, end: i64) -> None:
        check_bounds(data, start, end)
        self.data = data
        self.start = start
        self.end = end
        self.base_offset: i64 = read_i64_be(b, p)
        self.last_offset: i64 = self.base_offset + i64(read_i32_be(b, p + 23))
        self.stamped: i64 = (i64(read_i16_be(b, p + 21)) >> 3) & 1
        self.base_timestamp: i64 = read_i64_be(b, p + 27)
        self.max_timestamp: i64 = read_i64_be(b, p + 35)
        self.count: i64 = i64(read_i32_be(b, p + 57))
        if self.count * MIN_RECORD_BYTES > end - start:
            raise CorruptRecordCountError(self.base_offset, f"{self.count} records in {end - start} bytes")


class Selection:
    """The part of a batch that is kept: the bytes `[start, end)*` of its records, neighbours joined."""

    def __init__(self) -> None:
        self.spans: vec[i64] = vec[i64]()
        self.size_bytes: i64 = 0
        self.records: i64 = 0
        self.tombstones: i64 = 0
        self.keyless: i64 = 0  # dropped, because nothing could ever replace them
        self.max_timestamp: i64 = -1
        self.min_timestamp: i64 = MAX_I64


def plain_body(b: bytes, p: i64, end: i64) -> BatchBody:
    """Return the body of a batch that is not compressed, `b[p:end]`."""
    return BatchBody(b, p, b, p + OVERHEAD, end)


def map_keys(table: OffsetTable, body: BatchBody, lower: i64) -> bool:
    """Put the keys of the records from offset `lower` on into the table. False when it is full: `table.latest` is then
    the last offset before the record that had no room."""
    b = body.data
    end: i64 = body.end
    base: i64 = body.base_offset
    left: i64 = body.count
    previous: i64 = base - 1
    c = Cursor(base, body.start)
    head = RecordHead()
    while left > 0:
        if not read_head(head, b, c.position, end):
            read_key(c, b, end, head)
        offset: i64 = base + head.offset_delta
        if offset <= previous or offset > body.last_offset:
            raise CorruptRecordOffsetError(base, f"offset delta {offset - base} out of order or out of range")
        previous = offset
        if offset >= lower and head.key >= 0 and not table.put(b, head.key, head.key_end, offset):
            table.latest = offset - 1
            return False
        c.position = head.end
        left -= 1
    if c.position != end:
        raise CorruptRecordCountError(base, f"{end - c.position} bytes after the last record")
    return True


def read_key(c: Cursor, b: bytes, end: i64, head: RecordHead) -> None:
    """Read any record, up to its key."""
    head.end = read_record_end(c, b, end)
    c.position += 1
    read_varlong(c, b, head.end)
    head.offset_delta = read_varint(c, b, head.end)
    head.key = read_field(c, b, head.end)
    head.key_end = c.position


def select(table: OffsetTable, body: BatchBody, keep_tombstones: bool, keep_offset: i64) -> Selection:
    """Return the records of a batch that compaction keeps: whatever lies beyond the table, and otherwise the last of
    each key, unless it is a tombstone and these are not kept any more. A tombstone at `keep_offset` is kept all the
    same."""
    selection = Selection()
    spans = selection.spans
    b = body.data
    end: i64 = body.end
    base: i64 = body.base_offset
    latest: i64 = table.latest
    left: i64 = body.count
    previous: i64 = base - 1
    span_end: i64 = -1
    timestamp: i64 = body.max_timestamp
    plain_time: bool = body.base_timestamp > PLAIN_TIME_MIN and body.base_timestamp < PLAIN_TIME_MAX
    c = Cursor(base, body.start)
    head = RecordHead()
    while left > 0:
        record_start: i64 = c.position
        if plain_time and read_head(head, b, record_start, end):
            if not body.stamped:
                timestamp = body.base_timestamp + head.timestamp_delta
        else:
            timestamp = read_record(c, b, body, head)
        record_end: i64 = head.end
        c.position = record_end
        offset: i64 = base + head.offset_delta
        if offset <= previous or offset > body.last_offset:
            raise CorruptRecordOffsetError(base, f"offset delta {offset - base} out of order or out of range")
        previous = offset
        tombstone: bool = not head.has_value
        kept: bool = True
        if offset <= latest:
            if head.key < 0:
                selection.keyless += 1
                kept = False
            elif table.words[table.find(b, head.key, head.key_end) + 2] > offset + 1:
                kept = False
            elif tombstone:
                kept = keep_tombstones or offset == keep_offset
        if kept:
            if tombstone:
                selection.tombstones += 1
            if timestamp > selection.max_timestamp or selection.records == 0:
                selection.max_timestamp = timestamp
            if timestamp < selection.min_timestamp:
                selection.min_timestamp = timestamp
            selection.records += 1
            selection.size_bytes += record_end - record_start
            if record_start == span_end:
                spans[len(spans) - 1] = record_end
            else:
                spans = append(append(spans, record_start), record_end)
            span_end = record_end
        left -= 1
    if c.position != end:
        raise CorruptRecordCountError(base, f"{end - c.position} bytes after the last record")
    selection.spans = spans
    return selection


def read_record(c: Cursor, b: bytes, body: BatchBody, head: RecordHead) -> i64:
    """Read any record, field by field; return its timestamp."""
    timestamp: i64 = body.max_timestamp
    head.end = read_record_end(c, b, body.end)
    c.position += 1
    if body.stamped:
        read_varlong(c, b, head.end)
    else:
        timestamp = read_timestamp(c, b, head.end, body.base_timestamp)
    head.offset_delta = read_varint(c, b, head.end)
    head.key = read_field(c, b, head.end)
    head.key_end = c.position
    head.has_value = read_field(c, b, head.end) >= 0
    skip_headers(c, b, head.end)
    return timestamp


def copy_records(body: BatchBody, selection: Selection) -> bytes:
    """Return the kept records, as they were."""
    data = body.data
    spans = selection.spans
    w = BytesWriter()
    at: i64 = 0
    while at < len(spans):
        w.write(data[spans[at] : spans[at + 1]])
        at += 2
    return w.getvalue()


def rebase_records(body: BatchBody, selection: Selection, base_timestamp: i64) -> bytes:
    """Return the kept records with timestamps relative to another base, which is where a delete horizon is stored. The
    caller has made sure that the differences fit 64 bits; nothing else of a record changes, but its length may."""
    data = body.data
    spans = selection.spans
    w = BytesWriter()
    c = Cursor(body.base_offset, 0)
    at: i64 = 0
    timestamp: i64 = body.max_timestamp
    while at < len(spans):
        c.position = spans[at]
        while c.position < spans[at + 1]:
            end: i64 = read_record_end(c, data, body.end)
            c.position += 1
            if body.stamped:
                read_varlong(c, data, end)
            else:
                timestamp = read_timestamp(c, data, end, body.base_timestamp)
            delta: i64 = timestamp - base_timestamp
            write_unsigned(w, (1 + varlong_size(delta) + end - c.position) << 1)
            w.append(0)  # attributes, unused
            write_varlong(w, delta)
            w.write(data[c.position : end])
            c.position = end
        at += 2
    return w.getvalue()


def varlong_size(value: i64) -> i64:
    if value < 0:
        value = -(value + 1)  # the zigzag of both takes as many bits
    if value >> 62:
        return 10
    return unsigned_size(value << 1)


def write_varlong(w: BytesWriter, value: i64) -> None:
    """Write a value as zigzag. Its lowest seven bits are written apart, because all 64 would not fit a signed word."""
    negative: i64 = 1 if value < 0 else 0
    if negative:
        value = -(value + 1)
    low: i64 = (value & 63) << 1 | negative
    value >>= 6
    if value == 0:
        w.append(u8(low))
        return
    w.append(u8(low | 128))
    write_unsigned(w, value)
