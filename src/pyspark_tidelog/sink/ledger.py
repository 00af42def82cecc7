"""The ledger: a compacted topic that says, for every query, which transactions its last batch is made of.

Each query has one record, keyed by who writes and replaced with every batch (`ledger_records`). It is written in a
transaction under the transactional id of the query's driver: a driver that initializes that id fences every driver
before it, so one that is believed dead cannot decide anything any more. All records are in partition 0, however many
partitions the topic has: an old decision must still be found after partitions were added.

The last decision is near the end of the log, as a rule, so it is looked for backwards. A driver that is about to decide
(`is_final`) waits until no transaction before the high watermark is open: a decision of its own query could hide behind
another query's unfinished record.

A record in the format of the previous version counts until there is one in this version's format. The driver that wrote
it is fenced under its own id before the decision, and the old record is removed together with the first new one.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink import ledger_topic
from pyspark_tidelog.sink.decisions import Decision
from pyspark_tidelog.sink.ledger_records import decode, encode, writer_of
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.client.record import ConsumerRecord
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType

FIRST_LOOK: Final = 64  # offsets before the end; a batch takes two, one of them for the marker
TIMEOUT_MS: Final = 10_000  # of the ledger's own transactions: other queries wait for one that was left open
PAUSE_MS: Final = 20


class _Found(NamedTuple):
    decision: Decision | None
    is_former: bool  # its record has the key of the previous version


class Ledger:
    """The decisions of one query."""

    def __init__(self, client: Client, topic: str, ids: TransactionalIds, *, may_be_former: bool = True) -> None:
        """`may_be_former`: the previous version may have decided for this query; never true for a batch job, which has
        a new id each time."""
        self._client = client
        self._topic_partition = TopicPartition(topic, 0)
        self._ids = ids
        self._may_be_former = may_be_former
        self._replaces_former = False
        self._producer: TransactionalProducer | None = None

    def fence(self) -> None:
        """Fence every other driver of the query: the ledger takes no record of theirs any more, and one that they had
        left open is aborted. The ledger topic is made if it does not exist."""
        ledger_topic.make(self._client, self._topic_partition.topic)
        self._producer = TransactionalProducer(
            self._client,
            self._ids.driver,
            transaction_timeout_ms=TIMEOUT_MS,
            compression=CompressionType.ZSTD,
            linger_ms=0,
        )
        self._producer.init_transactions()

    def check(self) -> None:
        """Refuse a ledger topic that would not keep a decision."""
        ledger_topic.check(self._client, self._topic_partition.topic)

    def record(self, decision: Decision) -> None:
        self._write(encode(decision))

    def forget(self) -> None:
        """Remove the record of a job that will never be replayed."""
        self._write(None)

    def _write(self, value: bytes | None) -> None:
        assert self._producer is not None, "whoever writes has fenced the others"
        topic, partition = self._topic_partition
        with self._producer.transaction():
            self._producer.send(topic, value, key=self._ids.ledger_key, partition=partition)
            if self._replaces_former:
                self._producer.send(topic, None, key=self._ids.former_ledger_key, partition=partition)
        self._replaces_former = False

    def read(self, *, is_final: bool) -> Decision | None:
        """Return the last decision of the query. Unless `is_final`, one that was made a moment ago may be missing."""
        if not is_final and not self._client.has_topic(self._topic_partition.topic):
            return None
        found = self._read(is_final=is_final)
        if is_final and self._may_be_former and (found.is_former or found.decision is None):
            Admin(self._client).fence_producer(self._ids.former_driver)
            found = self._read(is_final=True)
            self._replaces_former = found.is_former
        return found.decision

    def _read(self, *, is_final: bool) -> _Found:
        consumer = Consumer(self._client, isolation="read_committed", out_of_range="earliest", max_wait_ms=0)
        begin = consumer.beginning_offsets([self._topic_partition])[self._topic_partition]
        end = (
            self._settled_end(consumer)
            if is_final
            else consumer.end_offsets([self._topic_partition])[self._topic_partition]
        )
        look = FIRST_LOOK
        while True:
            start = max(begin, end - look)
            found = self._find(consumer, start, end)
            if self._ids.ledger_key in found or start == begin:
                return self._chosen(found)
            look *= 8

    def _chosen(self, found: dict[bytes, ConsumerRecord]) -> _Found:
        """Return the decision of this version's record, whatever its offset; that of the previous version's record
        counts only where there is no other."""
        for key, is_former in ((self._ids.ledger_key, False), (self._ids.former_ledger_key, True)):
            record = found.get(key)
            if record is None:
                continue
            decision = None if record.value is None else decode(record.value)
            if not is_former or (decision is not None and self._ids.is_ours(decision)):
                return _Found(decision, is_former)
        return _Found(None, is_former=False)

    def _find(self, consumer: Consumer, start: int, end: int) -> dict[bytes, ConsumerRecord]:
        """Return the last record from `start` to `end` of each key under which this query's decision may be."""
        keys = (self._ids.ledger_key, self._ids.former_ledger_key if self._may_be_former else b"")
        consumer.assign({self._topic_partition: start})
        last = {}
        for record in consumer.read_to_end():
            if record.offset >= end:
                break
            if record.key in keys:
                last[record.key] = record
        return last

    def _settled_end(self, consumer: Consumer) -> int:
        """Wait until the last stable offset has reached the present high watermark; return it."""
        client, topic_partition = self._client, self._topic_partition
        wanted = Consumer(client).end_offsets([topic_partition])[topic_partition]
        give_up_ms = client.now_ms() + client.retry_timeout_ms
        while (end := consumer.end_offsets([topic_partition])[topic_partition]) < wanted:
            if client.now_ms() >= give_up_ms:
                what = (
                    f"the ledger can not be read to its end: a transaction is open at offset {end} of {topic_partition}"
                )
                step = "see whose with `tidelog transactions list`, or give this job a ledgerTopic of its own"
                raise SinkError(what, client.name, step)
            client.pause(PAUSE_MS)
        return end


def decisions(client: Client, topic: str) -> list[tuple[str, Decision]]:
    """Return the last decision of every writer, with the writer's displayed name. Two writers with different prefixes
    may have the same name."""
    consumer = Consumer(client, isolation="read_committed", out_of_range="earliest", max_wait_ms=0)
    topic_partition = TopicPartition(topic, 0)
    consumer.assign({topic_partition: consumer.beginning_offsets([topic_partition])[topic_partition]})
    found = _last_of_each(consumer.read_to_end())
    return [(_called(key), decision) for key, decision in found.items()]


def _last_of_each(records: Iterable[ConsumerRecord]) -> dict[bytes, Decision]:
    last: dict[bytes, Decision] = {}
    for record in records:
        key = record.key or b""
        last.pop(key, None)
        if record.value is not None:
            last[key] = decode(record.value)
    return last


def _called(key: bytes) -> str:
    writer = writer_of(key)
    return key.decode(errors="replace") if writer is None else str(TransactionalIds(*writer))
