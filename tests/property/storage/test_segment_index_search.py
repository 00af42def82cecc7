"""Searching an index file, whatever its entries look like, against a search from the front."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.storage.segment_data import files, machine

from tidelog.storage.segment.kernels_scan import last_up_to
from tidelog.storage.segment.offset_index import OffsetIndex
from tidelog.storage.segment.time_index import TimeIndex

BASE = 500

# Even steps, and steps of wildly different size: interpolation must be right for both.
steps = st.one_of(
    st.lists(st.integers(1, 3), max_size=700),
    st.lists(st.one_of(st.integers(1, 3), st.integers(1, 3_000_000)), max_size=500),
)


def sums(numbers: list[int]) -> list[int]:
    total, out = 0, []
    for number in numbers:
        total += number
        out.append(total)
    return out


def targets(values: list[int], more: list[int]) -> list[int]:
    near = [
        value + delta
        for value in values[:3] + values[-3:] + values[:: max(1, len(values) // 7)]
        for delta in (-1, 0, 1)
    ]
    return near + more


@settings(max_examples=60, derandomize=True, deadline=None)
@given(steps, st.lists(st.integers(0, 2**31), max_size=5), st.integers(0, 700))
def test_offset_index(increments: list[int], more: list[int], in_file: int) -> None:
    values = [each for each in sums(increments) if each < 2**31]
    index = OffsetIndex(files(machine(), BASE), 1 << 20)
    for count, value in enumerate(values, 1):
        index.append(BASE + value, value)
        if count == in_file:
            index.flush_entries()
    for target in targets(values, more):
        expected = max((value for value in values if value <= target), default=None)
        found = (BASE, 0) if expected is None else (BASE + expected, expected)
        assert index.lookup(BASE + target) == found
        assert index.lookup_position(target) == found


@settings(max_examples=40, derandomize=True, deadline=None)
@given(steps, st.lists(st.integers(-1, 2**62), max_size=5), st.integers(0, 700), st.integers(0, 2**61))
def test_time_index(increments: list[int], more: list[int], in_file: int, start: int) -> None:
    values = [start + each for each in sums(increments)]
    index = TimeIndex(files(machine(), BASE), 1 << 20)
    for count, value in enumerate(values, 1):
        index.maybe_append(value, BASE + count)
        if count == in_file:
            index.flush_entries()
    for target in targets(values, more):
        slot = sum(value <= target for value in values)
        assert index.lookup(target) == ((values[slot - 1], BASE + slot) if slot else (-1, BASE))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.integers(-(2**63), 2**63 - 1))
def test_a_block(values: list[int], target: int) -> None:
    values.sort()
    block = b"".join(b"pad" + value.to_bytes(8, "big", signed=True) for value in values)
    assert last_up_to(block, len(values), 11, 3, True, target) == sum(value <= target for value in values) - 1
