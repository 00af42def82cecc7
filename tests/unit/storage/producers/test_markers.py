"""The transaction that a control batch ends: nearly all markers are recognised by comparing bytes, the others by
reading the batch, with the same result."""

import pytest

from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.control import ControlRecordType, EndTransactionMarker
from tidelog.records.errors import CorruptRecordError
from tidelog.storage.producers import markers
from tidelog.storage.producers.markers import marker_of


def control_batch(marker: EndTransactionMarker, **options: object) -> bytes:
    given = {"producer_id": 2**40, "producer_epoch": 7, "is_transactional": True, "is_control": True, **options}
    builder = BatchBuilder(options=BatchOptions(**given))  # type: ignore[arg-type]
    builder.append_marker(1_700_000_000_000, marker)
    return builder.build()


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("epoch", [0, 1, -1, 2**31 - 1])
def test_the_usual_form_is_not_read_but_known(committed: bool, epoch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = EndTransactionMarker(committed, epoch)
    batch = control_batch(marker)
    as_read = marker_of(batch + b"\0")  # of another length, so it is read
    monkeypatch.setattr(markers, "read_batch", None)
    assert marker_of(batch) == marker == as_read
    assert marker_of(memoryview(bytearray(batch))) == marker


def test_a_compressed_one_is_read() -> None:
    marker = EndTransactionMarker(True, 5)
    assert marker_of(control_batch(marker, compression=CompressionType.GZIP)) == marker


def test_every_byte_that_is_another_is_read_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a byte of the record is changed to, comparing and reading give the same marker."""
    whole = control_batch(EndTransactionMarker(True, 5))
    changed = [
        whole[:at] + bytes([value]) + whole[at + 1 :]
        for at in range(57, len(whole))
        for value in (0, 1, 2, 7, 8, 0x20, 0xFF)
    ]

    def outcomes() -> list[object]:
        found: list[object] = []
        for batch in changed:
            try:
                found.append(marker_of(batch))
            except CorruptRecordError:
                found.append("corrupt")
        return found

    quick = outcomes()
    monkeypatch.setattr(markers, "_USUAL_BYTES", -1)
    assert quick == outcomes()
    assert {type(each) for each in quick} == {str, EndTransactionMarker, type(None)}


def test_what_ends_no_transaction() -> None:
    builder = BatchBuilder(options=BatchOptions(is_control=True))
    builder.append_control(0, ControlRecordType.LEADER_CHANGE, b"\0\0\0\0\0\0")
    batch = builder.build()
    assert len(batch) == 78
    assert marker_of(batch) is None
