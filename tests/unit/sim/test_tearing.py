"""Each mood of a crash by itself: what it may leave of a file, and that every such outcome does occur."""

from itertools import pairwise
from random import Random

import pytest

from tidelog.sim.pages import Image, Operation, Truncate, Write
from tidelog.sim.tearing import SECTOR_BYTES, Mood, tear

OLD = b"o" * (2 * SECTOR_BYTES)
# Two writes that share no sector, then one over both: a sector has at most two later versions.
OPERATIONS: list[Operation] = [
    Write(0, b"1" * SECTOR_BYTES),
    Write(SECTOR_BYTES, b"2" * SECTOR_BYTES),
    Write(0, b"3" * 4 * SECTOR_BYTES),
]
NEW = b"3" * (4 * SECTOR_BYTES)
STATES = [OLD, b"1" * 512 + b"o" * 512, b"1" * 512 + b"2" * 512, NEW]

Torn = dict[Mood, list[bytes]]


def torn_by(operations: list[Operation], old: bytes, stale: bytes = b"") -> Torn:
    torn: Torn = {mood: [] for mood in Mood}
    for seed in range(1_000):
        mood, image = tear(Image(bytearray(old), len(old)), operations, Random(seed), stale)
        torn[mood].append(image.read(0, image.size))
    return torn


@pytest.fixture(scope="module")
def torn() -> Torn:
    return torn_by(OPERATIONS, OLD)


def sectors(left: bytes) -> list[bytes]:
    return [left[at : at + SECTOR_BYTES] for at in range(0, len(left), SECTOR_BYTES)]


def distinct(values: list[bytes]) -> list[bytes]:
    return sorted(dict.fromkeys(values))


def test_every_mood_is_as_likely_as_the_others(torn: Torn) -> None:
    assert all(120 < len(outcomes) < 280 for outcomes in torn.values())


def test_nothing_and_all(torn: Torn) -> None:
    assert distinct(torn[Mood.NOTHING]) == [OLD]
    assert distinct(torn[Mood.ALL]) == [NEW]


def test_a_prefix_ends_between_two_operations_or_inside_one(torn: Torn) -> None:
    def is_on_the_way(left: bytes, before: bytes, after: bytes) -> bool:
        cut = next((i for i, (a, b) in enumerate(zip(left, after, strict=False)) if a != b), len(left))
        return left[cut:] == before[cut:] or (left == after[: len(left)] and len(left) > len(before))

    steps = list(pairwise(STATES))
    for left in torn[Mood.PREFIX]:
        assert any(is_on_the_way(left, before, after) for before, after in steps)
    clean = [left for left in torn[Mood.PREFIX] if left in STATES]
    assert distinct(clean) == sorted(STATES[:3])
    assert len(clean) < len(torn[Mood.PREFIX]) * 3 / 4


def test_sectors_are_each_as_old_as_some_version_and_never_mixed(torn: Torn) -> None:
    versions = [b"o1\x003", b"o2\x003", b"\x003", b"\x003"]
    seen: list[list[bytes]] = [[], [], [], []]
    for left in torn[Mood.SECTORS]:
        for number, sector in enumerate(sectors(left)):
            assert len(dict.fromkeys(sector)) == 1
            assert sector[0] in versions[number]
            seen[number].append(sector[:1])
    assert [b"".join(distinct(each)) for each in seen] == [b"13o", b"23o", b"\x003", b"\x003"]


def test_sectors_do_not_wait_for_each_other(torn: Torn) -> None:
    firsts = dict.fromkeys((left[0], left[SECTOR_BYTES]) for left in torn[Mood.SECTORS])
    assert len(firsts) == 9


def test_bytes_also_tears_inside_sectors_at_either_end(torn: Torn) -> None:
    mixed = [s for left in torn[Mood.BYTES] for s in sectors(left)[:2] if len(dict.fromkeys(s)) > 1]
    assert len(mixed) > 20
    assert any(sector[0] > sector[-1] for sector in mixed)
    assert any(sector[0] < sector[-1] for sector in mixed)


@pytest.mark.parametrize("mood", [Mood.SECTORS, Mood.BYTES])
def test_the_size_goes_its_own_way(torn: Torn, mood: Mood) -> None:
    sizes = [len(left) for left in torn[mood]]
    assert sizes.count(len(OLD)) > 20  # although bytes behind the old end may have survived
    assert sizes.count(len(NEW)) > 20  # although the bytes up to the new end may not have
    assert any(len(OLD) < size < len(NEW) for size in sizes)


def test_the_size_may_survive_without_a_byte(torn: Torn) -> None:
    assert OLD + bytes(len(OLD)) in torn[Mood.SECTORS]


def test_stale_bytes_stand_only_where_nothing_was_written() -> None:
    left = torn_by([Write(512, b"n" * 1_024)], b"o" * 512, stale=b"STALE")[Mood.SECTORS]
    assert all(each.startswith(b"o" * 512) for each in left)
    assert any(b"STALE" in each for each in left)
    assert any(each[512:] == b"n" * 1_024 for each in left)


def test_a_hole_is_zeros() -> None:
    left = torn_by([Write(5_000, b"n" * 1_024)], b"o" * 512, stale=b"STALE")[Mood.SECTORS]
    assert any(b"STALE" in each for each in left)
    assert not any(each[512:5_000].strip(b"\0") for each in left)


def test_a_truncation_is_there_or_not_and_never_half() -> None:
    torn = torn_by([Truncate(100, 1_000)], b"o" * 1_000)
    assert distinct(torn[Mood.PREFIX]) == [b"o" * 1_000]
    assert {len(left) for left in torn[Mood.SECTORS]} == {100, 1_000}
    assert all(left.startswith(b"o" * 100) for outcomes in torn.values() for left in outcomes)


def test_what_was_cut_does_not_come_back_behind_a_new_end() -> None:
    """The file was cut, then extended: in between are zeros or, where the cut was lost with its sector, the old bytes;
    nothing else."""
    torn = torn_by([Truncate(100, 1_000), Truncate(2_000, 100)], b"o" * 1_000, stale=b"STALE")
    assert distinct(torn[Mood.ALL]) == [b"o" * 100 + bytes(1_900)]
    for left in torn[Mood.SECTORS]:
        assert not left.strip(b"o\0")
