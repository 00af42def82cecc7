"""The hot path of reading: the rows of a task, as Arrow record batches, with no Python object for a record.

    bytes of a response -> positions of keys and values in them (kernels) -> one `take` a column -> RecordBatch

The rows are the records with `start <= offset < end`. Control records, aborted transactions and records that compaction
removed are left out, so there may be fewer rows than offsets, or none. Offsets that the log has lost are an error, or
are skipped and logged, as `failOnDataLoss` says.
"""

import logging
from collections.abc import Iterator
from typing import Any

from pyspark_tidelog.errors import DataLoss, TidelogError, of_client
from pyspark_tidelog.source.columns import ArrowColumns
from pyspark_tidelog.source.fetch_task import FetchTask
from tidelog.client.arrow.fetched_columns import ColumnDecoder
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.fetch_ahead import Chunk, FetchAhead, OpenLink, RangeLost
from tidelog.client.fetch.fetcher import FetchOptions
from tidelog.records.errors import RecordError

log = logging.getLogger("pyspark_tidelog")


def record_batches(task: FetchTask) -> Iterator[Any]:
    """Yield pyarrow RecordBatches of `arrow_schema(task.columns)`, about 2 MB each. TidelogError says what went wrong,
    where, and what to do."""
    if task.start < task.end:
        with task.cluster.connect(is_patient=True) as client:
            yield from batches_of(task, client)


def batches_of(task: FetchTask, client: Client, open_link: OpenLink | None = None) -> Iterator[Any]:
    """Yield the same batches as `record_batches`, over connections of the caller's choice."""
    fetch, arrow = task.fetch, ArrowColumns(task.topic, task.partition, task.columns)
    decoder = ColumnDecoder(task.end, read_committed=fetch.read_committed, verify_crc=fetch.verify_crc)
    source = _source(task, client, open_link)
    try:
        while (chunk := _next_chunk(task, source)) is not None:
            for rows in decoder.columns(chunk):
                yield from arrow.record_batches(rows)
    except RecordError as error:
        raise _corrupt(task, error) from None
    finally:
        source.close()


def _source(task: FetchTask, client: Client, open_link: OpenLink | None) -> FetchAhead:
    fetch = task.fetch
    options = FetchOptions(
        read_committed=fetch.read_committed,
        max_wait_ms=fetch.max_wait_ms,
        min_bytes=fetch.min_bytes,
        max_bytes=fetch.max_bytes,
        partition_bytes=fetch.partition_bytes,
    )
    return FetchAhead(
        client,
        task.topic_partition,
        task.start,
        task.end,
        options,
        client_id=task.cluster.client_id,
        topic_id=task.topic_id,
        rack=task.cluster.rack or "",
        leader=task.leader,
        open_link=open_link,
    )


def _next_chunk(task: FetchTask, source: FetchAhead) -> Chunk | None:
    while True:
        try:
            return source.next_chunk()
        except RangeLost as lost:
            if task.fail_on_data_loss:
                error = DataLoss(task.topic, task.partition, lost.offset, lost.available, lost.message or "")
                raise error from None
            source.seek(_what_is_left(task, lost))
        except ClientError as error:
            raise of_client(error, _doing(task)) from None


def _what_is_left(task: FetchTask, lost: RangeLost) -> int:
    """Return the offset to go on at, and log the loss: the beginning of the log where that has moved past the lost
    offset, otherwise the end of the task."""
    first = task.end if lost.available is None else lost.available[0]
    resumed = min(first, task.end) if first > lost.offset else task.end
    text = "%s: offsets %d to %d are lost and skipped (failOnDataLoss is false): %s"
    log.warning(text, task.topic_partition, lost.offset, resumed - 1, lost.message)
    return resumed


def _corrupt(task: FetchTask, error: RecordError) -> TidelogError:
    what = f"{task.topic_partition}: the record batch at offset {error.base_offset} cannot be read: {error.reason}"
    step = "look at it with `tidelog log dump`; if its replicas are whole, restart the broker that leads the partition"
    return TidelogError(what, f"reading offsets {task.start} to {task.end - 1}", step)


def _doing(task: FetchTask) -> str:
    return f"read {task.topic_partition}, offsets {task.start} to {task.end - 1}"
