"""Random produce buffers, and the verdict of Apache Kafka's own validation: ours gives the same code, names the same
records, or gives the same bytes and offsets (the same records, where a codec was asked for: two encoders differ)."""

from hashlib import sha256
from pathlib import Path

import pytest
from tests.unit.storage.produce import rules

from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.compression import CompressionType
from tidelog.storage.append.outcome import AppendOrigin, Refused, Validated
from tidelog.storage.append.validation import validate_and_assign

GOLDEN = Path(__file__).parent / "golden" / "log_validator_4_3.txt"
CASES = [line.split(" = ") for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
FIRST_ZSTD_VERSION = 7


def validate(case: list[str]) -> Validated | Refused:
    compacted, stamps, before, after, max_bytes, codec, origin, version, now, offset, epoch, *buffer = case
    sent = bytearray.fromhex(buffer[0]) if buffer else bytearray()
    stamped = stamps == "1"
    asked = rules(
        max_message_bytes=int(max_bytes),
        needs_keys=compacted == "1",
        is_log_append_time=stamped,
        before=2**63 - 1 if stamped else int(before),
        after=2**63 - 1 if stamped else int(after),
        compression=None if codec == "producer" else CompressionType[codec.upper().replace("UNCOMPRESSED", "NONE")],
    )
    place = int(offset), int(now), int(epoch)
    allows_zstd = int(version) >= FIRST_ZSTD_VERSION
    return validate_and_assign(
        memoryview(sent), 0, len(sent), *place, asked, AppendOrigin[origin], allows_zstd=allows_zstd
    )


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:12]


def hexadecimal(data: bytes | None) -> str:
    return "-" if data is None else data.hex()


def records_text(batch: RecordBatch) -> str:
    lines = []
    for record in batch.records():
        parts = [str(record.offset), str(record.timestamp), hexadecimal(record.key), hexadecimal(record.value)]
        parts += [f"{header.key_bytes().hex()}={hexadecimal(header.value)}" for header in record.headers]
        lines.append(":".join(parts) + "\n")
    return "".join(lines)


def verdict(result: Validated | Refused) -> list[str]:
    if isinstance(result, Refused):
        return ["NO", result.code.name, ",".join(str(error.index) for error in result.record_errors) or "-"]
    stored = b"".join(result.pieces)
    batch = read_batch(stored)
    assert batch is not None
    batch.validate()
    header = batch.header
    numbers = (
        header.base_offset,
        header.last_offset,
        result.max_timestamp,
        header.compression_id,
        header.timestamp_type.value,
        header.partition_leader_epoch,
        int(not isinstance(result.pieces[0], memoryview)),
    )
    return ["OK", *map(str, numbers), digest(stored), digest(records_text(batch).encode())]


def test_every_kind_of_outcome_is_there() -> None:
    codes = {outcome.split()[1] for _, outcome in CASES if outcome.startswith("NO")}
    refusals = {"INVALID_RECORD", "INVALID_TIMESTAMP", "MESSAGE_TOO_LARGE", "CORRUPT_MESSAGE"}
    assert codes == refusals | {"UNSUPPORTED_COMPRESSION_TYPE"}
    assert {outcome.split()[4] for _, outcome in CASES if outcome.startswith("OK")} == set("01234")


@pytest.mark.parametrize(("case", "outcome"), CASES, ids=[outcome[:24] for _, outcome in CASES])
def test_as_apache(case: str, outcome: str) -> None:
    expected, actual = outcome.split(), verdict(validate(case.split()))
    stored_anew = expected[0] == "OK" and expected[7] == "1"
    if stored_anew and actual[0] == "OK":
        expected[8] = actual[8]
    assert actual == expected
