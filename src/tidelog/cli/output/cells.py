"""One row of a dump as cells of a table: the values that belong together in one cell, times as times, text as text."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rich.markup import escape

from tidelog.cli.output.plain import to_plain
from tidelog.cli.output.rows import NOTHING
from tidelog.storage.inspect.rows import Row

VALUE_CHARACTERS: Final = 100
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
TIMES: Final = ("timestamp", "last_timestamp", "base_timestamp", "max_timestamp", "delete_horizon_ms")

Cells = dict[str, str]


def cells_of(row: Row) -> Cells:
    if row.kind == "batch":
        return _batch_cells(row.values)
    if row.kind == "record":
        return _record_cells(row.values)
    if row.kind == "producer":
        return _producer_cells(row.values)
    return {name: shown_time(value) if name in TIMES else shown(value) for name, value in row.values.items()}


def _batch_cells(values: dict[str, Any]) -> Cells:
    return {
        "position": shown(values["position"]),
        "offsets": _span(values["base_offset"], values["last_offset"]),
        "records": shown(values["records_count"]),
        "bytes": shown(values["size_bytes"]),
        "epoch": shown(values["partition_leader_epoch"]),
        "max_timestamp": shown_time(values["max_timestamp"]),
        "compression": NOTHING if values["compression"] == "none" else str(values["compression"]),
        "producer": _producer(values),
        "sequence": _span(values["base_sequence"], values["last_sequence"]),
        "flags": _flags(values) or NOTHING,
    }


def _record_cells(values: dict[str, Any]) -> Cells:
    meaning = values["meaning"]
    return {
        "offset": shown(values["offset"]),
        "timestamp": shown_time(values["timestamp"]),
        "sequence": shown(values["sequence"]),
        "key": NOTHING if meaning else shown(values["key"]),
        "value": NOTHING if meaning else shown(values["value"]),
        "headers": " ".join(f"{shown(key)}={shown(value)}" for key, value in values["headers"]) or NOTHING,
        "meaning": _meaning(meaning) if meaning else NOTHING,
    }


def _producer_cells(values: dict[str, Any]) -> Cells:
    return {
        "producer": _producer(values),
        "last_sequence": _number(values["last_sequence"]),
        "last_offset": _number(values["last_offset"]),
        "offset_delta": shown(values["offset_delta"]),
        "last_timestamp": shown_time(values["last_timestamp"]),
        "coordinator_epoch": _number(values["coordinator_epoch"]),
        "transaction_from": shown(values["current_txn_first_offset"]),
    }


def _number(value: int) -> str:
    return NOTHING if value < 0 else str(value)


def batch_line(values: dict[str, Any]) -> str:
    cells = _batch_cells(values)
    parts = [
        f"[bold]offsets {cells['offsets']}[/]",
        f"{cells['records']} record{'' if values['records_count'] == 1 else 's'}",
        f"{cells['bytes']} bytes at {cells['position']}",
        f"epoch {cells['epoch']}",
        *(f"{name} {cells[name]}" for name in ("compression", "producer", "sequence") if cells[name] != NOTHING),
        *([cells["flags"]] if cells["flags"] != NOTHING else []),
    ]
    return "  " + ", ".join(parts)


def _producer(values: dict[str, Any]) -> str:
    return NOTHING if values["producer_id"] < 0 else f"{values['producer_id']}/{values['producer_epoch']}"


def _span(first: int, last: int) -> str:
    return NOTHING if first < 0 else f"{first}-{last}"


def _flags(values: dict[str, Any]) -> str:
    flags = [
        "transactional" if values["is_transactional"] else "",
        "control" if values["is_control"] else "",
        "log append time" if values["timestamp_type"] == "LOG_APPEND_TIME" else "",
        f"horizon {shown_time(values['delete_horizon_ms'])}" if values["delete_horizon_ms"] is not None else "",
        "" if values["valid"] else "[bold red]CORRUPT[/]",
    ]
    return " ".join(flag for flag in flags if flag)


def _meaning(meaning: dict[str, Any]) -> str:
    """Return `Type v1 {"key": ...} -> {"value": ...}`; a key without a value is a tombstone."""
    plain = to_plain(meaning)
    version = f" v{plain['version']}" if plain.get("version") is not None else ""
    parts = [f"[green]{escape(plain['type'])}[/]{version}"]
    if "key" in plain:
        parts += [_compact(plain["key"]), "->"]
    if "value" in plain:
        parts.append("deleted" if plain["value"] is None else _compact(plain["value"]))
    return " ".join(parts)


def _compact(value: object) -> str:
    return _safe(json.dumps(value, ensure_ascii=False))


def _safe(text: str) -> str:
    """Return the text, escaped where need be. Records hold what anybody wrote: control characters must not reach a
    terminal, nor markup the table."""
    return escape(text if text.isprintable() else json.dumps(text))


def shown_time(timestamp: Any) -> str:
    """Return the time in UTC, to the millisecond; as a number where no calendar has it."""
    if timestamp is None or timestamp < 0:
        return NOTHING
    try:
        return f"{EPOCH + timedelta(milliseconds=timestamp):%Y-%m-%dT%H:%M:%S}.{timestamp % 1000:03d}Z"
    except OverflowError:
        return str(timestamp)


def shown(value: Any) -> str:
    """Return the value in one line, safe for a terminal."""
    if value is None:
        return NOTHING
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _shown_bytes(bytes(value))
    return _safe(value if isinstance(value, str) else json.dumps(to_plain(value)))


def _shown_bytes(value: bytes) -> str:
    try:
        text = value[: VALUE_CHARACTERS * 4].decode("utf-8")
    except UnicodeDecodeError as error:
        text = value[: error.start].decode("utf-8") if error.start > VALUE_CHARACTERS else ""
    if text.isprintable() and (text or not value):
        visible = text[:VALUE_CHARACTERS]
        return escape(visible) + _rest(len(visible.encode()), len(value)) if value else '""'
    head = value[: VALUE_CHARACTERS // 4]
    return f"0x{head.hex()}" + _rest(len(head), len(value))


def _rest(shown_bytes: int, size: int) -> str:
    return f"… ({size} bytes)" if size > shown_bytes else ""
