"""The hand-written codec of offset records gives the bytes of the general codec, compiled and interpreted, and the same
errors for damaged bytes."""

import importlib.util
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog._compiled import source_path
from tidelog.coordinator.group import offset_bytes
from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.record_framing import KEY_VERSION, CoordinatorRecord, decode_record, encode_key, encode_value
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.errors import EncodeError, MalformedMessage, ProtocolError
from tidelog.protocol.stored import PREFIX_BYTES, UnknownRecordVersion, decode_prefixed, encode_prefixed


def interpreted() -> ModuleType:
    """Load the same file without compiling it, so that one run compares the compiled and the interpreted module."""
    spec = importlib.util.spec_from_file_location("interpreted_offset_bytes", source_path(offset_bytes.__name__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CODECS: list[Any] = [
    offset_bytes.OffsetBytes(OffsetCommitKey, OffsetCommitValue),
    interpreted().OffsetBytes(OffsetCommitKey, OffsetCommitValue),
]
VERSIONS = range(5)

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
texts = st.one_of(st.text(max_size=20), st.text(alphabet="xä", min_size=100, max_size=140))
keys = st.builds(OffsetCommitKey, group=texts, topic=texts, partition=int32)
values = st.builds(
    OffsetCommitValue,
    offset=int64,
    leader_epoch=int32,
    metadata=texts,
    commit_timestamp=int64,
    expire_timestamp=int64,
    topic_id=st.one_of(st.just(ZERO_UUID), st.binary(min_size=16, max_size=16).map(Uuid)),
)
records = st.tuples(keys, values, st.sampled_from(VERSIONS))


def generic_key(key: OffsetCommitKey) -> bytes:
    return b"\x00\x01" + encode(key, KEY_VERSION)


def generic_decoded(key: bytes, value: bytes | None) -> CoordinatorRecord:
    message = decode_exact(OffsetCommitKey, key, KEY_VERSION, PREFIX_BYTES)
    return (
        CoordinatorRecord(message, None, None)
        if value is None
        else CoordinatorRecord(message, *decode_prefixed(OffsetCommitValue, value))
    )


def outcome(decoded: Any) -> Any:
    try:
        return decoded()
    except ProtocolError as error:
        return type(error), str(error)


@given(records)
@settings(max_examples=150)
def test_written_as_the_codec_writes_it(record: tuple[OffsetCommitKey, OffsetCommitValue, int]) -> None:
    key, value, version = record
    for codec in CODECS:
        assert codec.encode_key(key) == generic_key(key)
        assert codec.encode_value(value, version) in (encode_prefixed(value, version), None)
    assert encode_key(key) == generic_key(key)
    assert encode_value(value, version) == encode_prefixed(value, version)


@given(records)
@settings(max_examples=150)
def test_read_as_the_codec_reads_it(record: tuple[OffsetCommitKey, OffsetCommitValue, int]) -> None:
    key, value, version = record
    key_bytes, value_bytes = generic_key(key), encode_prefixed(value, version)
    expected = generic_decoded(key_bytes, value_bytes)
    for codec in CODECS:
        assert codec.decode(key_bytes, value_bytes) in (expected, None)
        assert codec.decode(key_bytes, None) == (key, None, None)
    assert decode_record(GROUP_RECORDS, key_bytes, value_bytes) == expected
    assert decode_record(GROUP_RECORDS, memoryview(key_bytes), bytearray(value_bytes)) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_what_nearly_all_look_like_is_not_left_to_the_codec(version: int) -> None:
    """A common record is decoded by hand: the test above would also pass if every record were left to the general
    codec."""
    key = OffsetCommitKey(group="group", topic="täpic", partition=7)
    value = OffsetCommitValue(
        offset=1 << 40, leader_epoch=3, metadata="m" * 126, commit_timestamp=-1, topic_id=Uuid(b"0123456789abcdef")
    )
    for codec in CODECS:
        key_bytes, value_bytes = codec.encode_key(key), codec.encode_value(value, version)
        assert value_bytes == encode_prefixed(value, version)
        assert codec.decode(key_bytes, value_bytes) == generic_decoded(key_bytes, value_bytes)


@given(records)
@settings(max_examples=30)
def test_every_truncation_is_malformed(record: tuple[OffsetCommitKey, OffsetCommitValue, int]) -> None:
    key, value, version = record
    key_bytes, value_bytes = generic_key(key), encode_prefixed(value, version)
    for end in range(len(key_bytes)):
        _check_malformed(key_bytes[:end], value_bytes)
    for end in range(len(value_bytes)):
        _check_malformed(key_bytes, value_bytes[:end])
    _check_malformed(key_bytes + b"\0", value_bytes)
    _check_malformed(key_bytes, value_bytes + b"\0")


def _check_malformed(key: bytes, value: bytes) -> None:
    for codec in CODECS:
        assert codec.decode(key, value) is None
    with pytest.raises(MalformedMessage):
        decode_record(GROUP_RECORDS, key, value)


@given(records, st.data())
@settings(max_examples=150)
def test_damage_is_what_the_codec_says_it_is(
    record: tuple[OffsetCommitKey, OffsetCommitValue, int], data: st.DataObject
) -> None:
    key, value, version = record
    value_bytes = bytearray(encode_prefixed(value, version))
    key_bytes = bytearray(generic_key(key))
    value_bytes[data.draw(st.integers(0, len(value_bytes) - 1))] = data.draw(st.integers(0, 255))
    key_bytes[data.draw(st.integers(PREFIX_BYTES, len(key_bytes) - 1))] = data.draw(st.integers(0, 255))
    damaged_key, damaged_value = bytes(key_bytes), bytes(value_bytes)
    expected = outcome(lambda: generic_decoded(damaged_key, damaged_value))
    assert outcome(lambda: decode_record(GROUP_RECORDS, damaged_key, damaged_value)) == expected
    for codec in CODECS:
        assert codec.decode(damaged_key, damaged_value) in (expected, None)


@given(st.binary(max_size=80), st.one_of(st.none(), st.binary(max_size=80)))
@settings(max_examples=100)
def test_noise(key: bytes, value: bytes | None) -> None:
    expected = outcome(lambda: generic_decoded(b"\0\1" + key, value))
    assert outcome(lambda: decode_record(GROUP_RECORDS, b"\0\1" + key, value)) == expected


@pytest.mark.parametrize(
    "value",
    [
        OffsetCommitValue(offset=1 << 63, metadata="", commit_timestamp=0),
        OffsetCommitValue(offset=0, leader_epoch=1 << 31, metadata="", commit_timestamp=0),
        OffsetCommitValue(offset=0, metadata="\ud800", commit_timestamp=0),
        OffsetCommitValue(offset=0, metadata=None, commit_timestamp=0),  # type: ignore[arg-type]
        OffsetCommitValue(offset="1", metadata="", commit_timestamp=0),  # type: ignore[arg-type]
        OffsetCommitValue(offset=0, metadata="", commit_timestamp=0, topic_id=Uuid(b"short")),
    ],
)
def test_what_can_not_be_written(value: OffsetCommitValue) -> None:
    for codec in CODECS:
        assert codec.encode_value(value, 4) is None
    with pytest.raises(EncodeError):
        encode_value(value, 4)


def test_texts_that_are_too_long() -> None:
    value = OffsetCommitValue(offset=0, metadata="x" * 0x8000, commit_timestamp=0)
    key = OffsetCommitKey(group="x" * 0x8000, topic="", partition=0)
    for codec in CODECS:
        assert codec.encode_value(value, 3) is None
        assert codec.encode_key(key) is None
    with pytest.raises(EncodeError):
        encode_value(value, 3)
    with pytest.raises(EncodeError):
        encode_key(key)


@pytest.mark.parametrize("partition", [1 << 31, -(1 << 31) - 1, None])
def test_partitions_that_are_none(partition: Any) -> None:
    key = OffsetCommitKey(group="", topic="", partition=partition)
    for codec in CODECS:
        assert codec.encode_key(key) is None
    with pytest.raises(EncodeError):
        encode_key(key)


def test_a_version_of_a_later_release() -> None:
    with pytest.raises(UnknownRecordVersion):
        decode_record(GROUP_RECORDS, generic_key(OffsetCommitKey(group="", topic="", partition=0)), b"\0\5" + bytes(30))
