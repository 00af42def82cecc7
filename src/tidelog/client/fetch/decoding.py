"""From the columns that the kernels decode to records as objects, a whole fetch at a time."""

from itertools import pairwise, repeat
from typing import Any

from tidelog.client.record import ConsumerRecord, Headers
from tidelog.model.ids import TopicPartition
from tidelog.records.kernels_decode import Columns, HeaderColumns, decode_headers
from tidelog.records.record import Header

_KEY, _VALUE = 0, 2  # of the four positions, and of the four bits of validity, that a row has


def records_of(topic_partition: TopicPartition, columns: Columns) -> list[ConsumerRecord]:
    """Return the rows of a fetch as records."""
    rows = len(columns)
    positions = memoryview(columns.positions).tolist()
    validity = bytes(memoryview(columns.validity))
    keys = _fields(columns.data, positions, _KEY, rows, validity, columns.null_keys)
    values = _fields(columns.data, positions, _VALUE, rows, validity, columns.null_values)
    headers = _headers(columns) if columns.headers_count else repeat(())
    return list(
        map(
            ConsumerRecord._make,
            zip(
                repeat(topic_partition.topic, rows),
                repeat(topic_partition.partition),
                memoryview(columns.offsets).tolist(),
                memoryview(columns.timestamps).tolist(),
                keys,
                values,
                headers,
                strict=False,
            ),
        )
    )


def _fields(data: bytes, positions: list[int], which: int, rows: int, validity: bytes, nulls: int) -> Any:
    """Return the key or the value of every row (`which` says which), None where it is null."""
    if nulls == rows:
        return repeat(None, rows)
    found: list[bytes | None] = [
        data[start:end] for start, end in zip(positions[which::4], positions[which + 1 :: 4], strict=False)
    ]
    if nulls:
        for row in range(rows):
            if not validity[row >> 1] >> (4 * (row & 1) + which) & 1:
                found[row] = None
    return found


def _headers(columns: Columns) -> list[Headers]:
    found: HeaderColumns = decode_headers(columns)
    ends = memoryview(found.list_offsets).tolist()
    count = ends[-1]
    positions = memoryview(found.positions).tolist()
    validity = bytes(memoryview(found.validity))
    keys = _fields(columns.data, positions, _KEY, count, validity, 0)
    values = _fields(columns.data, positions, _VALUE, count, validity, found.null_values)
    flat = [Header(key.decode("utf-8", "surrogateescape"), value) for key, value in zip(keys, values, strict=True)]
    return [tuple(flat[start:end]) for start, end in pairwise(ends)]
