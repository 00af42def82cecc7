"""Records to topics: gathered into batches a partition, sent to the leaders, and sent again until they are written.

Idempotent unless told otherwise: what is acknowledged is in the log once, and in the order of `send` within a
partition, whatever happened to connections and brokers in between (see `partition_line`).

All of it happens on the caller's thread, inside `send`, `poll` and `flush`. So `linger_ms` is kept as exactly as the
caller calls one of them.
"""

import contextlib
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from tidelog.client.backoff import Backoff
from tidelog.client.client import LOOK_AGAIN_MS, WAIT_MS_MAX, Client
from tidelog.client.errors import ClientError, DeliveryFailed, FailedDelivery, TimedOut
from tidelog.client.producer.batch import RECORD_OVERHEAD_BYTES, Compression, OnDelivery, OpenBatch, ProducerBatch
from tidelog.client.producer.partition_line import PartitionLine
from tidelog.client.producer.partitioner import Partitioner
from tidelog.client.producer.sender import Sender
from tidelog.client.producer.transaction import ProducerTransaction
from tidelog.client.record import Acks, Headers
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType
from tidelog.records.header import NO_SEQUENCE

if TYPE_CHECKING:
    from tidelog.client.arrow.produce import OnRefused

# Called with the partition of a batch, its first offset (-1 with acks=0), and how many records it has.
OnWritten = Callable[[TopicPartition, int, int], None]

TIMESTAMP_MAX: Final = 1 << 60
LAST_FLUSH_MS: Final = 5_000  # when an exception of the caller ends the `with` block


class Producer:
    def __init__(
        self,
        client: Client,
        *,
        acks: Acks = -1,
        idempotent: bool | None = None,
        compression: CompressionType = CompressionType.NONE,
        compression_level: int | None = None,
        linger_ms: int = 5,
        batch_bytes: int = 128 * 1024,
        buffer_bytes: int = 32 << 20,
        delivery_timeout_ms: int = 120_000,
        on_written: OnWritten | None = None,
        transaction: ProducerTransaction | None = None,
    ) -> None:
        """Prepare a producer. `acks`: -1 all in-sync replicas, 1 the leader, 0 nobody. `idempotent`: by default with
        acks=-1, which it needs. A batch is sent when it has `batch_bytes` or is `linger_ms` old. `send` waits while
        `buffer_bytes` are not acknowledged. What is not within `delivery_timeout_ms` is given up. `on_written` is told
        of every batch that is acknowledged, from within a later call. (`transaction` is for TransactionalProducer.)"""
        is_idempotent = acks == -1 if idempotent is None else idempotent
        if is_idempotent and acks != -1:
            raise ValueError("an idempotent producer needs acks=-1: who else would know of duplicates")
        if transaction is not None and not is_idempotent:
            raise ValueError("a transactional producer is idempotent")
        self.client = client
        self._on_written = on_written
        self._transaction = transaction
        self.compression = Compression(compression, compression_level)
        self.batch_bytes = batch_bytes
        self._linger_ms = linger_ms
        self._buffer_bytes = buffer_bytes
        self._delivery_timeout_ms = delivery_timeout_ms
        self._is_idempotent = is_idempotent
        self._partitioner = Partitioner(client.world.entropy, batch_bytes)
        self._lines: dict[tuple[str, int], PartitionLine] = {}
        self._busy: dict[PartitionLine, None] = {}
        self._sender = Sender(
            client, acks, is_idempotent, self._acknowledged, self._failed, self.compression, transaction
        )
        self._failures: list[FailedDelivery] = []
        self._buffered_bytes = 0
        self._turn_at_ms = 0
        self.unacknowledged = 0  # records whose fate is not known
        self.delivered = 0  # records acknowledged so far

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
        timestamp: int | None = None,
        headers: Headers = (),
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Hand over a record. Waits for room in the buffer, and for metadata of a topic that is new. The timestamp is
        now unless given. `on_delivery` is told the offset (-1 with acks=0) or the error, from within a later call; it
        must not call the producer itself."""
        if self._transaction is not None:
            self._transaction.require_open()
        clock = self.client.world.clock
        if timestamp is None:
            timestamp = clock.wall_ms()
        elif not -1 <= timestamp < TIMESTAMP_MAX:
            raise ValueError(f"timestamp {timestamp} is not in milliseconds since 1970")
        size = RECORD_OVERHEAD_BYTES + (len(value) if value else 0) + (len(key) if key else 0)
        if headers:
            size += _size_of(headers)
        if self._buffered_bytes + size > self._buffer_bytes:
            self._wait_for_room(size)
        line = self.line(topic, self._partition(topic, key, partition, size))
        now_ms = clock.monotonic_ms()
        if line.open is not None and line.open.size_bytes + size > self.batch_bytes:
            self.close_batch(line)
        if line.open is None:
            line.open = OpenBatch(now_ms)
            self._busy[line] = None
        line.open.append(key, value, timestamp, headers, size, on_delivery)
        self._buffered_bytes += size
        self.unacknowledged += 1
        if now_ms >= self._turn_at_ms:
            self._turn(0)

    def poll(self, timeout_ms: int = 0) -> None:
        """Move what is due: batches that have lingered, responses, retries. For whoever pauses between sends."""
        until_ms = self.client.now_ms() + timeout_ms
        self._turn(0)
        while self.unacknowledged and (left_ms := until_ms - self.client.now_ms()) > 0:
            self._turn(left_ms)

    def flush(self, timeout_ms: int | None = None) -> None:
        """Wait until the fate of every record is known. DeliveryFailed has all that failed since the last flush."""
        until_ms = None if timeout_ms is None else self.client.now_ms() + timeout_ms
        self._close_all()
        while self.unacknowledged:
            self._turn(WAIT_MS_MAX)
            if until_ms is not None and self.unacknowledged and self.client.now_ms() >= until_ms:
                what = f"flush {self.unacknowledged} record(s)"
                raise TimedOut(ErrorCode.REQUEST_TIMED_OUT, what, self.client.name, f"not within {timeout_ms} ms")
        if self._failures:
            failures, self._failures = self._failures, []
            raise DeliveryFailed(failures)

    def produce_arrow(
        self, topic: str, table: Any, *, partition: int | None = None, on_refused: "OnRefused | None" = None
    ) -> None:
        """Send the rows of a pyarrow Table or RecordBatch: column `value`, and optionally `key`, `timestamp` (of a
        timestamp type, or milliseconds), `headers` (list of struct of key and value) and `partition`. `on_refused` is
        told, from within a later call, which rows a batch that is given up had."""
        from tidelog.client.arrow.produce import produce_table

        produce_table(self, topic, table, partition, on_refused)

    def close(self) -> None:
        """Flush. After that the producer may be dropped; its client stays open."""
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            with contextlib.suppress(ClientError):  # the error that brought us here is the one to be told
                self.flush(LAST_FLUSH_MS)

    # For `arrow.produce`

    def line(self, topic: str, partition: int) -> PartitionLine:
        found = self._lines.get((topic, partition))
        if found is None:
            backoff = Backoff(self.client.world.entropy)
            topic_partition = TopicPartition(topic, partition)
            found = PartitionLine(
                topic_partition,
                backoff,
                is_idempotent=self._is_idempotent,
                is_transactional=self._transaction is not None,
            )
            self._lines[topic_partition] = found
        return found

    def close_batch(self, line: PartitionLine) -> None:
        line.close(self.compression)
        self._turn_at_ms = 0

    def choose(self, topic: str, key: bytes | None, size_bytes: int) -> int:
        return self._partition(topic, key, None, size_bytes)

    def partitions_count(self, topic: str) -> int:
        known = self.client.metadata.topics.get(topic) or self.client.topic(topic, may_create=True)
        return len(known.partitions)

    def checked(self, topic: str, partition: int) -> int:
        """Return the partition; ClientError where the topic has no such partition."""
        return self._partition(topic, None, partition, 0)

    def enqueue(self, line: PartitionLine, batch: ProducerBatch) -> None:
        """Queue a whole batch behind the records that the line has already."""
        if self._transaction is not None:
            self._transaction.require_open()
        self.close_batch(line)
        if self._buffered_bytes and self._buffered_bytes + batch.size_bytes > self._buffer_bytes:
            self._wait_for_room(batch.size_bytes)
        line.waiting.append(batch)
        self._busy[line] = None
        self._buffered_bytes += batch.size_bytes
        self.unacknowledged += batch.records_count
        self._turn(0)

    # Behind the scenes

    def _partition(self, topic: str, key: bytes | None, partition: int | None, size_bytes: int) -> int:
        known = self.client.metadata.topics.get(topic) or self.client.topic(topic, may_create=True)
        if partition is None:
            return self._partitioner.choose(known, key, size_bytes)
        if not 0 <= partition < len(known.partitions):
            self.client.refresh()  # it may have grown
            known = self.client.topic(topic)
        if not 0 <= partition < len(known.partitions):
            message = f"the topic has {len(known.partitions)} partition(s)"
            asked = f"produce to {topic}-{partition}"
            raise ClientError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, asked, self.client.name, message)
        return partition

    def _turn(self, wait_ms: int) -> None:
        """Send what is due, read responses, send what these made room for."""
        now_ms = self.client.now_ms()
        self._close_lingering(now_ms)
        self._expire(now_ms)
        self._sender.dispatch(self._busy, now_ms)
        self.client.poll(min(wait_ms, self._next_due_ms(now_ms)))
        self._sender.dispatch(self._busy, self.client.now_ms())
        for line in [line for line in self._busy if line.is_idle]:
            del self._busy[line]
        self._turn_at_ms = now_ms + self._linger_ms

    def _next_due_ms(self, now_ms: int) -> int:
        """Return for how many milliseconds nothing has to be done, if nothing arrives."""
        due = [line.open.created_ms + self._linger_ms for line in self._busy if line.open is not None]
        due += [line.retry_at_ms for line in self._busy if line.waiting and line.retry_at_ms > now_ms]
        if any(line.waiting for line in self._busy):
            due.append(now_ms + LOOK_AGAIN_MS)  # a leader may be found, a batch may be too old
        return max(0, min(due, default=now_ms + WAIT_MS_MAX) - now_ms)

    def _close_lingering(self, now_ms: int) -> None:
        for line in self._busy:
            if line.open is not None and now_ms - line.open.created_ms >= self._linger_ms:
                line.close(self.compression)

    def _close_all(self) -> None:
        for line in self._busy:
            line.close(self.compression)

    def _wait_for_room(self, size_bytes: int) -> None:
        self._close_all()
        while self._buffered_bytes and self._buffered_bytes + size_bytes > self._buffer_bytes:
            self._turn(WAIT_MS_MAX)

    def _expire(self, now_ms: int) -> None:
        for line in self._busy:
            for batch in line.expired(now_ms - self._delivery_timeout_ms):
                said = str(batch.last_error) if batch.last_error else "no leader to send it to"
                asked = f"produce to {line.partition}"
                message = f"not within {self._delivery_timeout_ms} ms; {said}"
                self._failed(
                    line, batch, TimedOut(ErrorCode.REQUEST_TIMED_OUT, asked, self.client.name, message, step="")
                )

    def _acknowledged(self, line: PartitionLine, batch: ProducerBatch, base_offset: int) -> None:
        self._resolve(batch)
        self.delivered += batch.records_count
        if self._on_written is not None:
            self._on_written(line.partition, base_offset, batch.records_count)
        batch.tell(base_offset)

    def _failed(self, line: PartitionLine, batch: ProducerBatch, error: ClientError) -> None:
        self._resolve(batch)
        self._failures.append(FailedDelivery(line.partition, batch.records_count, error))
        if self._transaction is not None:
            self._transaction.needs_new_epoch |= batch.sequence != NO_SEQUENCE
            self._transaction.failed(error)
        batch.tell(error)

    def _resolve(self, batch: ProducerBatch) -> None:
        self._buffered_bytes -= batch.size_bytes
        self.unacknowledged -= batch.records_count


def _size_of(headers: Iterable[tuple[str, bytes | None]]) -> int:
    return sum(len(key) + len(value or b"") + 4 for key, value in headers)
