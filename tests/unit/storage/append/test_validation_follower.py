"""The batches that a follower takes from its leader: whole, undamaged, at the end of its log, of epochs that it
knows."""

import pytest
from tests.unit.storage.produce import NOW, body_of, produced

from tidelog.model.errors import ErrorCode
from tidelog.records.builder import BatchBuilder, BatchOptions, empty_batch
from tidelog.records.control import EndTransactionMarker
from tidelog.records.header import CONTROL_FLAG, BatchHeader
from tidelog.storage.append.follower_check import check_follower
from tidelog.storage.append.outcome import AppendedBatch, Misplaced, Refused, Validated

EPOCH = 5


def fetched(base_offset: int, *, count: int = 2, epoch: int = EPOCH) -> bytes:
    return produced(
        body_of(*range(count)),
        base_offset=base_offset,
        records_count=count,
        last_offset_delta=count - 1,
        partition_leader_epoch=epoch,
        max_timestamp=NOW + count - 1,
    )


def check(
    sent: bytes, expected_offset: int = 100, *, epoch: int = EPOCH, allows_gaps: bool = True
) -> Validated | Refused:
    buffer = bytearray(b"before" + sent + b"after")
    result = check_follower(memoryview(buffer), 6, 6 + len(sent), expected_offset, epoch, allows_gaps=allows_gaps)
    assert buffer == b"before" + sent + b"after"
    return result


def taken(sent: bytes, expected_offset: int = 100, *, epoch: int = EPOCH) -> list[tuple[int, int]]:
    result = check(sent, expected_offset, epoch=epoch)
    assert isinstance(result, Validated)
    assert b"".join(result.pieces) == sent[: result.size_bytes]
    assert result.size_bytes == sum(batch.size_bytes for batch in result.batches)
    return [(batch.base_offset, batch.last_offset) for batch in result.batches]


def misplaced(sent: bytes, expected_offset: int = 100, *, allows_gaps: bool = True) -> Misplaced:
    result = check(sent, expected_offset, allows_gaps=allows_gaps)
    assert isinstance(result, Misplaced)
    assert result.code is ErrorCode.OFFSET_OUT_OF_RANGE
    return result


def test_batches_are_taken_as_they_are() -> None:
    sent = fetched(100) + fetched(102, count=5, epoch=4) + fetched(107)
    assert taken(sent) == [(100, 101), (102, 106), (107, 108)]
    result = check(sent)
    assert isinstance(result, Validated)
    assert result.batches[1] == AppendedBatch(
        base_offset=102,
        last_offset=106,
        max_timestamp=NOW + 4,
        size_bytes=len(fetched(102, count=5)),
        records_count=5,
        first_timestamp=NOW,
        leader_epoch=4,
    )


def test_a_batch_that_was_cut_short_is_left_for_the_next_fetch() -> None:
    whole, cut = fetched(100), fetched(102)
    for end in range(len(cut)):
        assert taken(whole + cut[:end]) == [(100, 101)]
    assert taken(cut[:-1]) == []
    assert taken(b"") == []


def test_compaction_leaves_holes_which_only_some_logs_refuse() -> None:
    sent = fetched(103) + fetched(110)
    assert taken(sent) == [(103, 104), (110, 111)]
    refused = misplaced(sent, allows_gaps=False)
    assert (refused.first_offset, refused.last_offset, refused.expected_offset) == (103, 104, 100)
    assert misplaced(sent, 103, allows_gaps=False).first_offset == 110


def test_what_the_log_has_already_is_refused_and_so_is_a_batch_that_reaches_back_into_it() -> None:
    for expected in (101, 102):
        refused = misplaced(fetched(100), expected)
        assert (refused.first_offset, refused.expected_offset) == (100, expected)


@pytest.mark.parametrize("second", [100, 101, 90])
def test_offsets_that_do_not_increase_are_refused(second: int) -> None:
    assert misplaced(fetched(100) + fetched(second)).first_offset == second


def test_batches_of_a_later_epoch_and_all_behind_them_are_left_out() -> None:
    sent = fetched(100) + fetched(102, epoch=EPOCH + 1) + fetched(104)
    assert taken(sent) == [(100, 101)]
    assert taken(sent, epoch=EPOCH + 1) == [(100, 101), (102, 103), (104, 105)]
    assert taken(fetched(100, epoch=-1), epoch=0) == [(100, 101)]


@pytest.mark.parametrize("position", [8, 16, 18, 22, 26, 60, 70])
def test_damage_is_refused(position: int) -> None:
    batch = bytearray(fetched(102))
    batch[position] ^= 0x81
    result = check(fetched(100) + bytes(batch) + fetched(104))
    assert isinstance(result, Refused)
    assert result.code is ErrorCode.CORRUPT_MESSAGE


def test_a_batch_that_contradicts_itself_is_refused_although_its_checksum_is_right() -> None:
    result = check(produced(base_offset=100, last_offset_delta=-1, partition_leader_epoch=EPOCH))
    assert isinstance(result, Refused)
    assert result.code is ErrorCode.CORRUPT_MESSAGE


def test_markers_are_read_and_what_compaction_left_of_them_is_none() -> None:
    options = BatchOptions(
        producer_id=7, producer_epoch=1, is_transactional=True, is_control=True, partition_leader_epoch=EPOCH
    )
    builder = BatchBuilder(base_offset=100, options=options)
    builder.append_marker(NOW, EndTransactionMarker(False, 4))
    left = empty_batch(
        BatchHeader(base_offset=101, partition_leader_epoch=EPOCH, attributes=CONTROL_FLAG, producer_id=7)
    )
    result = check(builder.build() + left)
    assert isinstance(result, Validated)
    assert [(batch.is_control, batch.marker) for batch in result.batches] == [
        (True, EndTransactionMarker(False, 4)),
        (True, None),
    ]
