"""The table of keys: every entry is found, its memory is what was granted, and the digest is SipHash."""

import pytest

from tidelog.records.kernels_compact import OffsetTable
from tidelog.storage.cleaner.offset_map import ENTRY_BYTES, largest_prime, new_offset_map

SEED = bytes(range(16))


@pytest.mark.parametrize(
    ("message", "digest"),
    [
        # Of the vectors that SipHash's authors publish for 128 bits: the first, the last of one word, and longer ones.
        (b"", "a3817f04ba25a8e66df67214c7550293"),
        (bytes(range(1)), "da87c1d86b99af44347659119b22fc45"),
        (bytes(range(7)), "a1f1ebbed8dbc153c0b84aa61ff08239"),
        (bytes(range(8)), "3b62a9ba6258f5610f83e264f31497b4"),
        (bytes(range(15)), "5493e99933b0a8117e08ec0f97cfc3d9"),
    ],
)
def test_the_digest_is_siphash(message: bytes, digest: str) -> None:
    table = OffsetTable(7, 3, SEED)
    table.digest(b"xx" + message + b"yy", 2, 2 + len(message))
    words = [int.from_bytes(bytes.fromhex(half), "little") & 2**63 - 1 for half in (digest[:16], digest[16:])]
    assert [table.digest_0, table.digest_1] == words


def test_another_seed_is_another_digest() -> None:
    digests = []
    for seed in (SEED, SEED[::-1]):
        table = OffsetTable(7, 3, seed)
        table.digest(b"key", 0, 3)
        digests.append((table.digest_0, table.digest_1))
    assert digests[0] != digests[1]


def test_every_key_is_found_when_the_table_is_as_full_as_it_may_get() -> None:
    table = OffsetTable(101, 100, SEED)
    latest: dict[bytes, int] = {}
    for offset in range(400):
        key = b"k%d" % (offset * 7 % 100)
        assert table.put(key, 0, len(key), offset)
        latest[key] = offset
    assert table.entries == 100
    assert {key: table.get(key) for key in latest} == latest
    assert table.get(b"unknown") == -1


def test_a_full_table_takes_no_new_key_but_newer_offsets() -> None:
    table = OffsetTable(5, 2, SEED)
    assert table.put(b"ab", 0, 1, 0)
    assert table.put(b"ab", 1, 2, 1)
    assert not table.put(b"c", 0, 1, 2)
    assert table.put(b"a", 0, 1, 3)
    assert (table.get(b"a"), table.get(b"b"), table.get(b"c"), table.entries) == (3, 1, -1, 2)


def test_offset_zero_is_an_offset() -> None:
    table = OffsetTable(5, 2, SEED)
    table.put(b"a", 0, 1, 0)
    assert table.get(b"a") == 0


def test_a_cleared_table_is_empty() -> None:
    table = OffsetTable(5, 2, SEED)
    table.put(b"a", 0, 1, 9)
    table.clear()
    assert (table.get(b"a"), table.entries, table.latest) == (-1, 0, -1)


@pytest.mark.parametrize(("slots", "limit", "seed"), [(1, 1, SEED), (5, 5, SEED), (5, 0, SEED), (5, 2, b"short")])
def test_a_table_that_could_not_work_is_refused(slots: int, limit: int, seed: bytes) -> None:
    with pytest.raises(ValueError, match="table"):
        OffsetTable(slots, limit, seed)


@pytest.mark.parametrize("buffer_bytes", [72, 1000, 24 * 1000, 1 << 16])
def test_the_table_stays_within_its_buffer(buffer_bytes: int) -> None:
    table = new_offset_map(buffer_bytes, 0.9, 10**9, SEED)
    assert len(memoryview(table.words)) * 8 <= buffer_bytes
    slots = int(table.slots)
    assert slots * ENTRY_BYTES > buffer_bytes * 0.8
    assert 0.5 * slots <= int(table.limit) <= 0.9 * slots


def test_the_table_is_no_larger_than_the_records_need() -> None:
    table = new_offset_map(1 << 30, 0.9, 100, SEED)
    assert 100 <= table.limit < table.slots <= 200


def test_a_buffer_without_room_for_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="holds no key"):
        new_offset_map(71, 0.9, 10, SEED)
    with pytest.raises(ValueError, match="holds no key"):
        new_offset_map(24 * 100, 0.001, 10, SEED)


def test_primes() -> None:
    assert [largest_prime(bound) for bound in (2, 3, 4, 9, 10, 100, 5_592_405)] == [2, 3, 3, 7, 7, 97, 5_592_373]
