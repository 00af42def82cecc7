"""Columns back to Python rows, the slow and obvious way, for comparison."""

from tidelog.records.kernels_decode import Columns, HeaderColumns, decode_headers

Row = tuple[int, int, bytes | None, bytes | None]
HeaderRow = tuple[bytes | None, bytes | None]


def element(data: bytes, positions: memoryview, validity: memoryview, index: int) -> bytes | None:
    """Return element `index` of the Arrow array that the buffers describe."""
    if not validity[index >> 3] >> (index & 7) & 1:
        return None
    return data[positions[index] : positions[index + 1]]


def rows(columns: Columns) -> list[Row]:
    positions, validity = memoryview(columns.positions), memoryview(columns.validity)
    return [
        (
            columns.offsets[row],
            columns.timestamps[row],
            element(columns.data, positions, validity, 4 * row),
            element(columns.data, positions, validity, 4 * row + 2),
        )
        for row in range(len(columns))
    ]


def header_rows(columns: Columns, headers: HeaderColumns | None = None) -> list[list[HeaderRow]]:
    headers = headers or decode_headers(columns)
    positions, validity = memoryview(headers.positions), memoryview(headers.validity)
    return [
        [
            (
                element(columns.data, positions, validity, 4 * index),
                element(columns.data, positions, validity, 4 * index + 2),
            )
            for index in range(headers.list_offsets[row], headers.list_offsets[row + 1])
        ]
        for row in range(len(columns))
    ]
