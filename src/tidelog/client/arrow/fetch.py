"""Fetched records as Arrow tables: the kernels' offsets lie over the fetched bytes, and one `take` copies each column.

pyarrow is no dependency of the package. It is imported here, when the first table is asked for.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tidelog.client.arrow.extra import require_pyarrow
from tidelog.client.by_leader import Answer, ask_leaders
from tidelog.client.errors import ClientError, CorruptRecords
from tidelog.client.fetch.fetch_session import Wanted
from tidelog.client.fetch.fetcher import one_fetch
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from tidelog.records.aborted import AbortedFilter, AbortedTransaction
from tidelog.records.errors import RecordError
from tidelog.records.fetched import Fetched, decode_fetched
from tidelog.records.header import MAX_INT64
from tidelog.records.kernels_decode import Columns, decode_headers

if TYPE_CHECKING:
    from tidelog.client.fetch.consumer import Consumer


class ArrowFetch(NamedTuple):
    table: Any  # pyarrow.Table: offset int64, timestamp timestamp[ms, UTC], key binary, value binary (, headers)
    next_offset: int  # where to go on, also when there are no rows: markers and aborted records have offsets too
    high_watermark: int


class _Data(NamedTuple):
    records: bytes
    aborted: AbortedFilter | None
    high_watermark: int


def fetch_arrow(
    consumer: "Consumer", topic_partition: TopicPartition, offset: int, end_offset: int | None, headers: bool
) -> ArrowFetch:
    require_pyarrow()
    client, options = consumer.client, consumer.options

    def build(_topic_partitions: Sequence[TopicPartition]) -> FetchRequest:
        known = client.metadata.partition(topic_partition)
        epoch = -1 if known is None else known.leader_epoch
        return one_fetch(Wanted(client.topic(topic_partition.topic).topic_id, offset, epoch), topic_partition, options)

    def read(response: FetchResponse) -> Iterator[Answer[_Data]]:
        for topic in response.responses:
            for data in topic.partitions:
                yield Answer(topic_partition, data.error_code, None, _copied(data, options.read_committed))

    outcome = ask_leaders(client, [topic_partition], "fetch", build, read)[topic_partition]
    if isinstance(outcome, ClientError):
        raise outcome
    upper = MAX_INT64 if end_offset is None else end_offset
    try:
        return _table(outcome, offset, upper, headers, consumer.verify_crc)
    except RecordError as error:
        asked = f"fetch {topic_partition} from offset {offset}"
        raise CorruptRecords(ErrorCode.CORRUPT_MESSAGE, asked, client.name, str(error)) from error


def _copied(data: PartitionData, read_committed: bool) -> _Data:
    """Copy what is needed of a response, which is a view of the connection's buffer that the next response
    overwrites."""
    aborted = None
    if read_committed:
        listed = data.aborted_transactions or []
        aborted = AbortedFilter(AbortedTransaction(each.producer_id, each.first_offset) for each in listed)
    return _Data(bytes(data.records or b""), aborted, data.high_watermark)


def _table(data: _Data, offset: int, upper: int, headers: bool, verify_crc: bool) -> ArrowFetch:
    import pyarrow as pa  # type: ignore[import-untyped]

    batches = []
    position, next_offset = 0, offset
    while position < len(data.records) and next_offset < upper:
        fetched: Fetched = decode_fetched(
            data.records,
            position=position,
            lower=next_offset,
            upper=upper,
            aborted=data.aborted,
            verify_crc=verify_crc,
        )
        batches.append(record_batch(fetched.columns, headers))
        next_offset = fetched.next_offset
        if fetched.next_position == position:
            break  # what is left is half a batch
        position = fetched.next_position
    table = pa.Table.from_batches(batches, schema(headers))
    return ArrowFetch(table, next_offset, data.high_watermark)


def schema(headers: bool) -> Any:
    import pyarrow as pa

    fields = [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
    ]
    if headers:
        element = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
        fields.append(pa.field("headers", pa.list_(element), nullable=False))
    return pa.schema(fields)


def record_batch(columns: Columns, headers: bool) -> Any:
    """Return the rows as a pyarrow RecordBatch."""
    import pyarrow as pa

    rows, wanted = len(columns), schema(headers)
    arrays = [
        pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(columns.offsets)]),
        pa.Array.from_buffers(wanted.field("timestamp").type, rows, [None, pa.py_buffer(columns.timestamps)]),
        *_pair(columns.data, columns.positions, columns.validity, rows),
    ]
    if headers:
        arrays.append(_header_lists(columns, wanted.field("headers").type))
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _pair(data: bytes, positions: object, validity: object, rows: int) -> tuple[Any, Any]:
    """Return the keys and the values as two columns. Keys are elements 4i of the positions, values elements 4i + 2;
    `take` copies each into a column of its own."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if not rows:  # an empty bitmap is no bitmap to pyarrow, which aborts
        return pa.array([], pa.binary()), pa.array([], pa.binary())
    buffers = [pa.py_buffer(validity), pa.py_buffer(positions), pa.py_buffer(data)]
    raw = pa.Array.from_buffers(pa.binary(), 4 * rows, buffers)
    first = pa.array(range(0, 4 * rows, 4), pa.int32())
    return raw.take(first), raw.take(pc.add(first, pa.scalar(2, pa.int32())))


def _header_lists(columns: Columns, kind: Any) -> Any:
    import pyarrow as pa

    found = decode_headers(columns)
    keys, values = _pair(columns.data, found.positions, found.validity, int(columns.headers_count))
    fields = [kind.value_type.field(0), kind.value_type.field(1)]
    structs = pa.StructArray.from_arrays([keys.cast(pa.string()), values], fields=fields)
    ends = pa.Array.from_buffers(pa.int32(), len(columns) + 1, [None, pa.py_buffer(found.list_offsets)])
    return pa.ListArray.from_arrays(ends, structs, type=kind)
