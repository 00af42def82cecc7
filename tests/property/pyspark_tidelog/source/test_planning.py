"""For any offsets, batches and tasks lose nothing, read nothing twice, and are as large as was asked for."""

import json
import math
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_tidelog.kafka.offsets import Offsets, from_json, parse_offsets, to_json
from pyspark_tidelog.source.planning import OffsetRange, admit, split
from tidelog.model.ids import TopicPartition

topic_partitions = st.builds(TopicPartition, st.sampled_from(["a", "b.c", "d"]), st.integers(0, 5))
offsets = st.dictionaries(topic_partitions, st.integers(0, 10**6))
limits = st.none() | st.integers(1, 50)


@settings(deadline=None, max_examples=60)
@given(offsets, offsets, limits, st.none() | st.integers(1000, 10**6))
def test_tasks_cover_each_range_once(starts: Offsets, lengths: Offsets, least: int | None, most: int | None) -> None:
    ranges = [
        OffsetRange(topic_partition, starts.get(topic_partition, 0), starts.get(topic_partition, 0) + n)
        for topic_partition, n in lengths.items()
    ]
    tasks = split(ranges, least, most)
    pieces = defaultdict(list)
    for task in tasks:
        assert 0 < task.size <= (most or task.size)
        pieces[task.topic_partition].append(task)
    assert set(pieces) == {each.topic_partition for each in ranges if each.size}
    for topic_partition, start, end in (each for each in ranges if each.size):
        for piece in pieces[topic_partition]:
            assert piece.start == start
            start = piece.end
        assert start == end


def shares(start: Offsets, latest: Offsets, new: Offsets, rows: int) -> Offsets:
    """Spark's way, in floating point."""
    begins = {
        topic_partition: start.get(topic_partition, new.get(topic_partition, end))
        for topic_partition, end in latest.items()
    }
    waiting = {
        topic_partition: end - begins[topic_partition]
        for topic_partition, end in latest.items()
        if end > begins[topic_partition]
    }
    total = sum(waiting.values())
    found = dict(latest)
    for topic_partition, size in waiting.items():
        share = rows * (size / total)
        found[topic_partition] = min(
            latest[topic_partition], begins[topic_partition] + (math.ceil(share) if share < 1 else math.floor(share))
        )
    return found


@settings(deadline=None, max_examples=60)
@given(offsets, offsets, offsets, st.integers(1, 10**7))
def test_a_batch_is_as_sparks_to_a_record(start: Offsets, latest: Offsets, new: Offsets, rows: int) -> None:
    found, twin = admit(start, latest, new, rows), shares(start, latest, new, rows)
    assert found.keys() == latest.keys()
    assert all(abs(found[topic_partition] - twin[topic_partition]) <= 1 for topic_partition in found)


@settings(deadline=None, max_examples=60)
@given(offsets, offsets, st.integers(1, 10**7))
def test_a_batch_goes_forward_and_keeps_to_its_size(start: Offsets, latest: Offsets, rows: int) -> None:
    found = admit(start, latest, {}, rows)
    taken = {
        topic_partition: found[topic_partition] - start[topic_partition]
        for topic_partition in start
        if latest.get(topic_partition, -1) > start[topic_partition]
    }
    assert all(1 <= size <= latest[topic_partition] - start[topic_partition] for topic_partition, size in taken.items())
    assert sum(taken.values()) <= rows + len(taken)


@settings(deadline=None, max_examples=60)
@given(offsets)
def test_json_there_and_back(found: Offsets) -> None:
    text = json.dumps(to_json(found))
    assert from_json(json.loads(text)) == found == parse_offsets("startingOffsets", text)
