"""Apache's DumpLogSegments, and our dump in its words. The two agree line by line, or one of them reads wrongly."""

import re
from pathlib import Path
from typing import Any

from tests.interop.apache.jars import run_tool

from tidelog.io.files import PosixFileSystem
from tidelog.storage.inspect.dump import DumpOptions, dump_file
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.rows import Row

DUMP = "org.apache.kafka.tools.DumpLogSegments"
TIMESTAMP_TYPES = {"CREATE_TIME": "CreateTime", "LOG_APPEND_TIME": "LogAppendTime"}
# The tool may complain only of a segment's first offset, which it expects to follow -1.
HARMLESS = re.compile(r"Non-consecutive offsets in .*|  -1 is followed by \d+")
# Compaction leaves gaps; and batches without records, in whose records the tool looks for the time of an index entry
# (Apache's own cleaner takes it from their headers, as ours does).
HARMLESS_IF_COMPACTED = re.compile(
    r"  \d+ is followed by \d+|Found timestamp mismatch in .*|  Index timestamp: \d+, log timestamp: -1"
)


def apache_dump(jars: Path, files: list[Path], *options: str, compacted: bool = False) -> dict[str, list[str]]:
    """Return the lines that the tool prints for each file; fail at any serious complaint of it."""
    printed, complaints = run_tool(jars, DUMP, *options, "--files", ",".join(map(str, files)))
    serious = [line for line in complaints.splitlines() if not HARMLESS.fullmatch(line)]
    assert not [line for line in serious if not (compacted and HARMLESS_IF_COMPACTED.fullmatch(line))], complaints
    assert "invalid bytes" not in printed
    parts: dict[str, list[str]] = {}
    for line in printed.splitlines():
        if line.startswith("Dumping "):
            lines = parts[line.removeprefix("Dumping ")] = []
        else:
            lines.append(line)
    assert list(parts) == [str(each) for each in files]
    return parts


def facts_only(lines: list[str]) -> list[str]:
    """Return the lines of batches and records, without what decoders add about the quorum's control records."""
    facts = [line for line in lines if line.startswith(("baseOffset", "| "))]
    return [re.sub(r"(headerKeys: \[.*?\])(?! endTxnMarker).*", r"\1", line) for line in facts]


def our_dump(path: Path, *, records: bool = True) -> list[Row]:
    items = list(dump_file(PosixFileSystem(), str(path), DumpOptions(records, verify_index=True)))
    findings = [str(item) for item in items if isinstance(item, Finding)]
    assert not findings
    return [item for item in items if isinstance(item, Row)]


def in_apaches_words(rows: list[Row]) -> list[str]:
    lines, timestamp_type = [], ""
    for row in rows:
        if row.kind == "batch":
            timestamp_type = TIMESTAMP_TYPES[str(row.values["timestamp_type"])]
            lines.append(_batch_line(row.values, timestamp_type))
        else:
            lines.append(_record_line(row.values, timestamp_type))
    return lines


def _batch_line(v: dict[str, Any], timestamp_type: str) -> str:
    horizon = v["delete_horizon_ms"]
    return (
        f"baseOffset: {v['base_offset']} lastOffset: {v['last_offset']} count: {v['records_count']} "
        f"baseSequence: {v['base_sequence']} lastSequence: {v['last_sequence']} producerId: {v['producer_id']} "
        f"producerEpoch: {v['producer_epoch']} partitionLeaderEpoch: {v['partition_leader_epoch']} "
        f"isTransactional: {_bool(v['is_transactional'])} isControl: {_bool(v['is_control'])} "
        f"deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'} "
        f"position: {v['position']} {timestamp_type}: {v['max_timestamp']} size: {v['size_bytes']} magic: 2 "
        f"compresscodec: {v['compression']} crc: {v['crc']} isvalid: {_bool(v['valid'])}"
    )


def _record_line(v: dict[str, Any], timestamp_type: str) -> str:
    sequence = -1 if v["sequence"] is None else v["sequence"]
    headers = ",".join(key for key, _ in v["headers"])
    meaning = v["meaning"]
    ending = ""
    if meaning and meaning["type"] in ("COMMIT", "ABORT"):
        ending = f" endTxnMarker: {meaning['type']} coordinatorEpoch: {meaning['value'].coordinator_epoch}"
    return (
        f"| offset: {v['offset']} {timestamp_type}: {v['timestamp']} keySize: {_size(v['key'])} "
        f"valueSize: {_size(v['value'])} sequence: {sequence} headerKeys: [{headers}]{ending}"
    )


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _size(value: bytes | None) -> int:
    return -1 if value is None else len(value)
