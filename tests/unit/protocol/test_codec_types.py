"""Every wire type, in the old and in the flexible encoding, byte for byte."""

import pytest
from tests.unit.protocol.toys import UUID, AllTypes, Nothing, Nothings, OldStyle, Point, all_types

from tidelog.protocol.codec import decode, decode_exact, decoder, encode, encode_parts
from tidelog.protocol.errors import EncodeError, MalformedMessage
from tidelog.protocol.schema import Buffer

FIXED = (
    b"\x01\xfe\xfe\xd4\xff\xff\xff\xfe\xee\x90\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x00"
    b"\x3f\xe0\x00\x00\x00\x00\x00\x00" + UUID
)
OLD = (
    FIXED
    + b"\x00\x04a\xc3\xb1b"  # text
    + b"\xff\xff"  # maybe_text: null
    + b"\x00\x00\x00\x04blob"
    + b"\x00\x00\x00\x00"  # maybe_blob: empty
    + b"\x00\x00\x00\x07records"
    + b"\x00\x00\x00\x02\x00\x00\x00\x01\xff\xff\xff\xff"  # numbers
    + b"\xff\xff\xff\xff"  # maybe_numbers: null
    + b"\x00\x00\x00\x02\x01\x00"  # flags
    + b"\x00\x00\x00\x02" + UUID + bytes(16)
    + b"\x00\x00\x00\x02\x00\x00\x00\x01x"  # texts
    + b"\x00\x00\x00\x01\x00\x00\x00\x01y"  # blobs
    + b"\x00\x00\x00\x01\x00\x02"  # point
    + b"\xff"  # maybe_point: null
    + b"\x00\x00\x00\x02\x00\x00\x00\x03\x00\x04\x00\x00\x00\x05\x00\x06"  # points
    + b"\x00\x00\x00\x01\x00\x01n\x00\x00\x00\x01\x00\x00\x00\x07\x00\x08"  # named
    + b"\x00\x00\x00\x00"  # maybe_named: empty
)  # fmt: skip
FLEXIBLE = (
    FIXED
    + b"\x05a\xc3\xb1b"
    + b"\x00"
    + b"\x05blob"
    + b"\x01"
    + b"\x08records"
    + b"\x03\x00\x00\x00\x01\xff\xff\xff\xff"
    + b"\x00"
    + b"\x03\x01\x00"
    + b"\x03" + UUID + bytes(16)
    + b"\x03\x01\x02x"
    + b"\x02\x02y"
    + b"\x00\x00\x00\x01\x00\x02\x00"
    + b"\xff"
    + b"\x03\x00\x00\x00\x03\x00\x04\x00\x00\x00\x00\x05\x00\x06\x00"
    + b"\x02\x02n\x02\x00\x00\x00\x07\x00\x08\x00\x00"
    + b"\x01"
    + b"\x00"
)  # fmt: skip


@pytest.mark.parametrize(("version", "expected"), [(0, OLD), (1, OLD), (2, FLEXIBLE), (3, FLEXIBLE)])
def test_bytes(version: int, expected: bytes) -> None:
    assert encode(all_types(), version) == expected


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(("version", "encoded"), [(0, OLD), (3, FLEXIBLE)])
def test_decode_from_any_buffer(version: int, encoded: bytes, make: type) -> None:
    message, position = decode(AllTypes, make(encoded), version)
    assert message == all_types()
    assert position == len(encoded)
    assert type(message.blob) is bytes
    assert type(message.id) is bytes
    assert type(message.ids[0]) is bytes
    assert type(message.blobs[0]) is bytes


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(("version", "encoded"), [(0, OLD), (3, FLEXIBLE)])
def test_decode_in_the_middle_of_a_buffer(version: int, encoded: bytes, make: type) -> None:
    buffer: Buffer = make(b"before" + encoded + b"\x00after")
    message, position = decode(AllTypes, buffer, version, 6, 6 + len(encoded))
    assert message == all_types()
    assert position == 6 + len(encoded)
    assert decoder(AllTypes, version)(bytes(buffer), 6, len(buffer)) == (message, position)


@pytest.mark.parametrize(("position", "end"), [(-1, 4), (0, 5), (3, 2), (5, 5)])
def test_a_stretch_that_the_buffer_does_not_have_is_a_bug(position: int, end: int) -> None:
    with pytest.raises(ValueError, match="of a buffer of 4"):
        decode(OldStyle, b"\x00\xff\xff\x00", 0, position, end)


def test_a_memoryview_of_something_other_than_bytes_is_read_as_bytes() -> None:
    padded = encode(OldStyle(text=None, after=""), 0)
    assert decode_exact(OldStyle, memoryview(padded).cast("b"), 0) == OldStyle(text=None, after="")


def test_records_are_a_view_of_the_input_and_can_be_patched_in_place() -> None:
    buffer = bytearray(OLD)
    message = decode_exact(AllTypes, buffer, 0)
    assert isinstance(message.batches, memoryview)
    assert message.batches.obj is buffer
    message.batches[0:2] = b"RE"
    assert b"REcords" in buffer


def test_records_are_a_part_of_their_own_whatever_they_are() -> None:
    class FileRange:
        def __len__(self) -> int:
            return 300

    message = all_types()
    message.batches = FileRange()
    for version, prefix in ((0, b"\x00\x00\x01\x2c"), (3, b"\xad\x02")):
        head, batches, tail = encode_parts(message, version)
        assert batches is message.batches
        assert head.endswith(prefix)
        message_with_bytes = all_types()
        message_with_bytes.batches = bytes(300)
        assert encode(message_with_bytes, version) == head + bytes(300) + tail
    with pytest.raises(EncodeError, match="AllTypes"):
        encode(message, 0)


@pytest.mark.parametrize("batches", [None, b""])
def test_null_and_empty_records_need_no_part(batches: bytes | None) -> None:
    message = all_types()
    message.batches = batches
    for version in (0, 3):
        (only,) = encode_parts(message, version)
        assert only == encode(message, version)
        assert decode_exact(AllTypes, only, version).batches == batches


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 16383, 32767])
@pytest.mark.parametrize("version", [0, 2])
def test_lengths_around_the_steps_of_a_varint(version: int, length: int) -> None:
    message = all_types()
    message.text = message.maybe_text = "t" * length
    message.texts = ["u" * length, "v"]
    message.blob = bytes(length)
    message.batches = b"r" * length
    message.numbers = list(range(length))
    message.named *= min(length, 300)
    message.points = [Point(x=index) for index in range(min(length, 300))]
    encoded = encode(message, version)
    for buffer in (encoded, bytearray(encoded), memoryview(encoded)):
        assert decode_exact(AllTypes, buffer, version) == message


def test_present_nullables() -> None:
    message = all_types()
    message.maybe_text, message.maybe_numbers, message.maybe_point = "here", [1, 2], Point(x=9, y=9)
    for version in (0, 3):
        assert decode_exact(AllTypes, encode(message, version), version) == message


def test_any_byte_but_zero_is_true() -> None:
    assert decode_exact(AllTypes, b"\x02" + OLD[1:], 0).flag is True


def test_a_field_may_stay_in_the_old_encoding() -> None:
    assert encode(OldStyle(text="ab", after="c"), 1) == b"\x00\x00\x02ab\x02c\x00"
    assert decode_exact(OldStyle, b"\x00\xff\xff\x02c\x00", 1) == OldStyle(text=None, after="c")


def test_elements_without_bytes_are_counted_as_one_byte_each() -> None:
    """Otherwise a count of four bytes could ask for two billion objects."""
    assert decode(Nothings, b"\x00\x00\x00\x02__", 0)[0] == Nothings(items=[Nothing(), Nothing()])
    with pytest.raises(MalformedMessage):
        decode(Nothings, b"\x00\x00\x00\x02_", 0)


def test_padded_varints_are_read_as_kafka_reads_them() -> None:
    padded = FLEXIBLE.replace(b"\x05blob", b"\x85\x80\x00blob")
    assert decode_exact(AllTypes, padded, 2) == all_types()
