"""The kernel's walk against `read_records`, which makes an object of every record: both accept the same bytes, and find
the same fault in the others."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.records.batches import Record, record_bytes, records

from tidelog.records.errors import CorruptRecordError, CorruptRecordOffsetError
from tidelog.records.header import BatchHeader
from tidelog.records.kernels_check import RecordsCheck, check_records
from tidelog.records.record import read_records

damage = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=2)


def object_walk(body: bytes, header: BatchHeader) -> tuple[int, list[int]] | CorruptRecordError:
    """Return the latest timestamp and the indexes of the records without a key."""
    try:
        found = list(read_records(body, header))
    except CorruptRecordError as error:
        return error
    keyless = [index for index, record in enumerate(found) if record.key is None]
    return max([-1, *(record.timestamp for record in found)]), keyless


def kernel_walk(body: bytes, header: BatchHeader) -> RecordsCheck | CorruptRecordError:
    forever = -(2**63), 2**63 - 1
    try:
        return check_records(
            body, 0, len(body), header.records_count, header.base_offset, header.base_timestamp, *forever, True
        )
    except CorruptRecordError as error:
        return error


@settings(max_examples=300, deadline=None)
@given(st.lists(records, min_size=1, max_size=5), damage, st.integers(-1, 1), st.integers(0, 3))
def test_like_the_reader_of_objects(
    sent: list[Record], changes: list[tuple[int, int]], miscount: int, cut: int
) -> None:
    body = bytearray(b"".join(record_bytes(index, record) for index, record in enumerate(sent)))
    for position, byte in changes:
        body[position % len(body)] = byte
    plain = bytes(body[: len(body) - cut])
    count = len(sent) + miscount
    header = BatchHeader(base_offset=70, last_offset_delta=max(0, count - 1), base_timestamp=1000, records_count=count)
    expected, actual = object_walk(plain, header), kernel_walk(plain, header)
    if isinstance(expected, CorruptRecordOffsetError):
        assert isinstance(actual, CorruptRecordError) or not actual.is_dense
    elif isinstance(expected, CorruptRecordError):
        assert isinstance(actual, CorruptRecordError)
        assert (type(actual), str(actual)) == (type(expected), str(expected))
    else:
        assert isinstance(actual, RecordsCheck)
        assert (actual.is_dense, actual.max_timestamp, list(actual.keyless)) == (True, *expected)
