"""The offsets of produced records, in words and for programs."""

from tidelog.cli.produce.written_offsets import WrittenOffsets
from tidelog.model.ids import TopicPartition


def test_batches_of_a_partition_are_one_range() -> None:
    written = WrittenOffsets()
    written.add(TopicPartition("t", 1), 7, 1)
    written.add(TopicPartition("t", 0), 3, 2)
    written.add(TopicPartition("t", 0), 9, 1)  # another producer wrote between the two
    assert written.records == 4
    assert written.lines() == ["t-0 offsets 3-9 (3 records)", "t-1 offset 7"]
    assert written.rows() == [
        {"partition": 0, "first_offset": 3, "last_offset": 9, "records": 3},
        {"partition": 1, "first_offset": 7, "last_offset": 7, "records": 1},
    ]


def test_offsets_that_nobody_acknowledged_are_not_known() -> None:
    written = WrittenOffsets()
    written.add(TopicPartition("t", 0), -1, 3)
    written.add(TopicPartition("t", 0), -1, 3)
    assert written.lines() == ["t-0 (6 records, offsets not known)"]
    assert written.rows() == [{"partition": 0, "first_offset": -1, "last_offset": -1, "records": 6}]


def test_many_partitions_are_not_all_listed() -> None:
    written = WrittenOffsets()
    for partition in range(20):
        written.add(TopicPartition("t", partition), 0, 1)
    assert written.lines()[-1] == "and 12 more partitions"
    assert len(written.rows()) == 20


def test_nothing() -> None:
    assert (WrittenOffsets().records, WrittenOffsets().lines(), WrittenOffsets().rows()) == (0, [], [])
