"""Any offsets: batches and tasks lose nothing, read nothing twice, and are as large as was asked for."""

import json
import math
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_tidelog.offsets import Offsets, from_json, parse_offsets, to_json
from pyspark_tidelog.planning import OffsetRange, admit, split
from tidelog.model.ids import TopicPartition

places = st.builds(TopicPartition, st.sampled_from(["a", "b.c", "d"]), st.integers(0, 5))
offsets = st.dictionaries(places, st.integers(0, 10**6))
limits = st.none() | st.integers(1, 50)


@settings(deadline=None, max_examples=60)
@given(offsets, offsets, limits, st.none() | st.integers(1000, 10**6))
def test_tasks_cover_each_range_once(starts: Offsets, lengths: Offsets, least: int | None, most: int | None) -> None:
    ranges = [OffsetRange(place, starts.get(place, 0), starts.get(place, 0) + n) for place, n in lengths.items()]
    tasks = split(ranges, least, most)
    pieces = defaultdict(list)
    for task in tasks:
        assert 0 < task.size <= (most or task.size)
        pieces[task.place].append(task)
    assert set(pieces) == {each.place for each in ranges if each.size}
    for place, start, end in (each for each in ranges if each.size):
        for piece in pieces[place]:
            assert piece.start == start
            start = piece.end
        assert start == end


def shares(start: Offsets, latest: Offsets, new: Offsets, rows: int) -> Offsets:
    """Spark's way, in floating point."""
    begins = {place: start.get(place, new.get(place, end)) for place, end in latest.items()}
    waiting = {place: end - begins[place] for place, end in latest.items() if end > begins[place]}
    total = sum(waiting.values())
    found = dict(latest)
    for place, size in waiting.items():
        share = rows * (size / total)
        found[place] = min(latest[place], begins[place] + (math.ceil(share) if share < 1 else math.floor(share)))
    return found


@settings(deadline=None, max_examples=60)
@given(offsets, offsets, offsets, st.integers(1, 10**7))
def test_a_batch_is_as_sparks_to_a_record(start: Offsets, latest: Offsets, new: Offsets, rows: int) -> None:
    found, twin = admit(start, latest, new, rows), shares(start, latest, new, rows)
    assert found.keys() == latest.keys()
    assert all(abs(found[place] - twin[place]) <= 1 for place in found)


@settings(deadline=None, max_examples=60)
@given(offsets, offsets, st.integers(1, 10**7))
def test_a_batch_goes_forward_and_keeps_to_its_size(start: Offsets, latest: Offsets, rows: int) -> None:
    found = admit(start, latest, {}, rows)
    taken = {place: found[place] - start[place] for place in start if latest.get(place, -1) > start[place]}
    assert all(1 <= size <= latest[place] - start[place] for place, size in taken.items())
    assert sum(taken.values()) <= rows + len(taken)


@settings(deadline=None, max_examples=60)
@given(offsets)
def test_json_there_and_back(found: Offsets) -> None:
    text = json.dumps(to_json(found))
    assert from_json(json.loads(text)) == found == parse_offsets("startingOffsets", text)
