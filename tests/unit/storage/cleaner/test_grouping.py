"""Groups of segments that are cleaned into one."""

from tests.unit.storage.cleaner.toylog import settings

from tidelog.storage.cleaner.grouping import SEGMENTS_MAX, group_segments
from tidelog.storage.cleaner.job import SegmentFacts
from tidelog.storage.segment.indexes import IndexSettings


def groups(
    segments: list[SegmentFacts], *, max_bytes: int = 100, index_bytes: int = 1000, end: int = 10**6
) -> list[list[int]]:
    limits = settings(segment_bytes_max=max_bytes)
    limits.index = IndexSettings(4096, index_bytes)
    return [[segment.base_offset for segment in group] for group in group_segments(segments, limits, end)]


def segments_of(*sizes: int) -> list[SegmentFacts]:
    return [SegmentFacts(10 * number, size) for number, size in enumerate(sizes)]


def test_as_many_as_fit() -> None:
    assert groups(segments_of(40, 60, 1, 99, 1)) == [[0, 10], [20, 30], [40]]


def test_one_that_is_too_large_stays_alone() -> None:
    assert groups(segments_of(10, 500, 10)) == [[0], [10], [20]]


def test_nothing_is_in_no_group() -> None:
    assert groups([]) == []


def test_each_index_has_to_fit() -> None:
    facts = segments_of(1, 1, 1)
    assert groups([one._replace(offset_index_bytes=400) for one in facts]) == [[0, 10], [20]]
    assert groups([one._replace(time_index_bytes=400) for one in facts]) == [[0, 10], [20]]


def test_offsets_have_to_fit_32_bits() -> None:
    far = [SegmentFacts(0, 1), SegmentFacts(10, 1), SegmentFacts(2**31, 1)]
    assert groups(far, end=2**31 + 1) == [[0, 10], [2**31]]
    assert groups(far[:2], end=2**31) == [[0, 10]]
    assert groups(far[:2], end=2**31 + 1) == [[0], [10]]


def test_no_more_segments_than_a_turn_can_rename() -> None:
    tiny = [SegmentFacts(10 * i, 1) for i in range(SEGMENTS_MAX + 3)]
    assert list(map(len, group_segments(tiny, settings(), 10_000))) == [SEGMENTS_MAX, 3]
