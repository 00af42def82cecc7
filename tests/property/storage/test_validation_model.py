"""Validation against a twin that reads one record object after another and knows nothing of kernels or shortcuts; and
random bytes, which must be answered and never crash."""

from struct import pack

from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.records.raw import field, varint
from tests.unit.storage.produce import EPOCH, NOW, OFFSET, produced, rules

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import read_batch
from tidelog.records.compression import CompressionType, compress
from tidelog.storage.append.outcome import AppendOrigin, Refused, Validated
from tidelog.storage.append.refusals import refuse_batch
from tidelog.storage.append.rules import AppendRules
from tidelog.storage.append.validation import is_intact, is_usual, validate_and_assign

Sent = tuple[int, int, bytes | None, bytes | None]  # offset delta, time delta, key, value
codecs = st.sampled_from(list(CompressionType))
times = st.sampled_from([0, 1, -1, 500, -500, 1001, -1001, 70_000])
fields = st.none() | st.binary(max_size=4) | st.just(b"x" * 200)
dense = st.lists(st.tuples(times, fields, fields), min_size=1, max_size=6).map(
    lambda rows: [(index, *row) for index, row in enumerate(rows)]
)
holed = st.lists(st.tuples(st.integers(-3, 300), times, fields, fields), min_size=1, max_size=6)
topics = st.builds(
    rules,
    needs_keys=st.booleans(),
    is_log_append_time=st.booleans(),
    before=st.sampled_from([1000, 2**63 - 1]),
    after=st.sampled_from([1000, 2**63 - 1]),
    compression=st.none() | codecs,
)


def encode(sent: list[Sent], codec: CompressionType, base_timestamp: int, max_timestamp: int) -> bytes:
    body = b""
    for offset, time, key, value in sent:
        inside = b"\0" + varint(time) + varint(offset) + field(key) + field(value) + varint(0)
        body += varint(len(inside)) + inside
    count = len(sent)
    checked = pack(">hiqqqhii", codec, count - 1, base_timestamp, max_timestamp, -1, -1, -1, count)
    checked += compress(codec, body)
    return pack(">qiibI", 0, len(checked) + 9, -1, 2, crc32c(checked)) + checked


def faults(sent: list[Sent], base_timestamp: int, topic: AppendRules) -> list[tuple[int, ErrorCode]]:
    found = []
    for index, (_, time, key, _) in enumerate(sent):
        timestamp = base_timestamp + time
        early = topic.timestamp_before_max_ms < 2**63 - 1 and timestamp < NOW - topic.timestamp_before_max_ms
        late = timestamp > NOW + topic.timestamp_after_max_ms
        if topic.needs_keys and key is None:
            found.append((index, ErrorCode.INVALID_RECORD))
        elif (early or late) and timestamp != -1:
            found.append((index, ErrorCode.INVALID_TIMESTAMP))
    return found


def validate(buffer: bytearray, topic: AppendRules) -> Validated | Refused:
    return validate_and_assign(memoryview(buffer), 0, len(buffer), OFFSET, NOW, EPOCH, topic)


@settings(max_examples=250, deadline=None)
@given(dense | holed, codecs, topics, st.sampled_from([NOW, NOW - 800, 0, -1]), st.none() | st.integers(-1, 2**40))
def test_like_the_twin(
    sent: list[Sent], codec: CompressionType, topic: AppendRules, base_timestamp: int, claimed: int | None
) -> None:
    newest = max([-1, *(base_timestamp + record[1] for record in sent)])
    result = validate(bytearray(encode(sent, codec, base_timestamp, newest if claimed is None else claimed)), topic)
    expected = faults(sent, base_timestamp, topic)
    if expected:
        assert isinstance(result, Refused)
        assert result.code == max((code for _, code in expected), key=[87, 32].index)
        assert [error.index for error in result.record_errors] == [index for index, _ in expected]
        return
    assert isinstance(result, Validated)
    assert result.max_timestamp == (NOW if topic.is_log_append_time else newest)
    batch = read_batch(b"".join(result.pieces))
    assert batch is not None
    batch.check_crc()
    assert batch.compression is (codec if topic.compression is None else topic.compression)
    assert [(record.offset, record.timestamp, record.key, record.value) for record in batch.records()] == [
        (OFFSET + index, NOW if topic.is_log_append_time else base_timestamp + time, key, value)
        for index, (_, time, key, value) in enumerate(sent)
    ]


@settings(max_examples=150, deadline=None)
@given(
    codecs, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3), st.booleans(), st.integers(0, 90)
)
def test_damage_is_an_answer(codec: CompressionType, changes: list[tuple[int, int]], repair: bool, cut: int) -> None:
    """Damaged batches that are accepted read back in full, each record at its offset; also where the checksum was made
    right over the damage."""
    buffer = bytearray(produced(codec=codec))
    for position, byte in changes:
        buffer[position % len(buffer)] = byte
    if repair:
        buffer[17:21] = pack(">I", crc32c(buffer[21:]))
    del buffer[len(buffer) - cut % 3 :]
    original = bytes(buffer)
    result = validate(buffer, rules())
    if isinstance(result, Refused):
        assert buffer == original
        return
    batch = read_batch(b"".join(result.pieces))
    assert batch is not None
    batch.validate()
    assert [record.offset for record in batch.records()] == list(range(OFFSET, OFFSET + batch.header.records_count))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 255)), max_size=2), st.booleans())
def test_the_shortcut_lets_nothing_pass_that_the_rules_refuse(
    changes: list[tuple[int, int]], allows_zstd: bool
) -> None:
    buffer = bytearray(produced(codec=CompressionType.ZSTD, producer_id=5, producer_epoch=0, base_sequence=0))
    for position, byte in changes:
        buffer[position] = byte
    buffer[17:21] = pack(">I", crc32c(buffer[21:]))
    view, topic = memoryview(buffer), rules()
    if is_usual(bytes(view), topic.max_message_bytes, allows_zstd) and is_intact(bytes(view), view):
        for origin in AppendOrigin:
            assert refuse_batch(view, topic, origin, allows_zstd) == len(buffer)
