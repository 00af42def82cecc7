"""The ledger: a compacted topic that says, for every query, which transactions its last batch is made of.

One record a query, keyed by it and replaced with every batch. It is written in a transaction under the transactional id
of the query's driver: whoever initializes that id fences every driver before it, so a driver that is believed dead can
not decide anything any more. All of it is in partition 0, whatever the topic's number: a topic that grows must not make
us look for an old decision in a new place.

The last decision is near the end, as a rule: it is looked for backwards. Whoever is about to decide (`is_final`) waits
until nothing before the high watermark is open: behind another query's unfinished record a decision of our own could
hide.
"""

import json
import logging
from collections.abc import Iterable
from typing import Final

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.two_phase import Decision, Transaction
from tidelog.client.admin import Admin
from tidelog.client.admin_topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.consumer import Consumer
from tidelog.client.errors import ClientError
from tidelog.client.record import ConsumerRecord
from tidelog.client.transactional_producer import TransactionalProducer
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType

LOGGER: Final = logging.getLogger("pyspark_tidelog")
VERSION: Final = 1
FIRST_LOOK: Final = 64  # offsets from the end; a batch takes two, one of them for the marker
TIMEOUT_MS: Final = 10_000  # of the ledger's own transactions: others wait for one that was left behind
PAUSE_MS: Final = 20
CONFIGS: Final = {
    "cleanup.policy": "compact",
    "segment.bytes": str(4 << 20),  # what compaction leaves alone is what a new query reads through
    "min.cleanable.dirty.ratio": "0.1",
}


def encode(decision: Decision) -> bytes:
    listed = [list(each) for each in decision.transactions]
    fields = {"version": VERSION, "batch": decision.batch_id, "run": decision.run_id, "transactions": listed}
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(value: bytes) -> Decision:
    try:
        found = json.loads(value)
        if found["version"] != VERSION:
            raise ValueError(f"version {found['version']}")
        listed = tuple(Transaction(str(name), int(id_), int(epoch)) for name, id_, epoch in found["transactions"])
        return Decision(int(found["batch"]), str(found["run"]), listed)
    except (ValueError, KeyError, TypeError) as error:
        what = f"the ledger has a record that is not understood ({error})"
        step = "was it written by a newer version, or by something else? give this job a ledgerTopic of its own"
        raise SinkError(what, "", step) from None


class Ledger:
    """Of one query."""

    def __init__(self, client: Client, topic: str, query_id: str, transactional_id: str) -> None:
        self._client = client
        self._place = TopicPartition(topic, 0)
        self._key = query_id.encode()
        self._transactional_id = transactional_id
        self._producer: TransactionalProducer | None = None

    def fence(self) -> None:
        """From now on no other driver's record is taken; what one had left open is aborted."""
        _make(self._client, self._place.topic)
        self._producer = TransactionalProducer(
            self._client,
            self._transactional_id,
            transaction_timeout_ms=TIMEOUT_MS,
            compression=CompressionType.ZSTD,
            linger_ms=0,
        )
        self._producer.init_transactions()

    def record(self, decision: Decision) -> None:
        self._write(encode(decision))

    def forget(self) -> None:
        """For a job that will never be replayed."""
        self._write(None)

    def _write(self, value: bytes | None) -> None:
        assert self._producer is not None, "whoever writes has fenced the others"
        with self._producer.transaction():
            self._producer.send(self._place.topic, value, key=self._key, partition=self._place.partition)

    def read(self, *, is_final: bool) -> Decision | None:
        """The last decision. Unless `is_final`, one that was made a moment ago may be missing."""
        if not is_final and not self._client.has_topic(self._place.topic):
            return None
        consumer = Consumer(self._client, isolation="read_committed", out_of_range="earliest", max_wait_ms=0)
        begin = consumer.beginning_offsets([self._place])[self._place]
        end = self._settled_end(consumer) if is_final else consumer.end_offsets([self._place])[self._place]
        look = FIRST_LOOK
        while True:
            start = max(begin, end - look)
            found = self._find(consumer, start, end)
            if found is not None or start == begin:
                return None if found is None or found.value is None else decode(found.value)
            look *= 8

    def _find(self, consumer: Consumer, start: int, end: int) -> ConsumerRecord | None:
        consumer.assign({self._place: start})
        last = None
        for record in consumer.read_to_end():
            if record.offset >= end:
                break
            if record.key == self._key:
                last = record
        return last

    def _settled_end(self, consumer: Consumer) -> int:
        client, place = self._client, self._place
        wanted = Consumer(client).end_offsets([place])[place]
        give_up_ms = client.now_ms() + client.retry_timeout_ms
        while (end := consumer.end_offsets([place])[place]) < wanted:
            if client.now_ms() >= give_up_ms:
                what = f"the ledger can not be read to its end: a transaction is open at offset {end} of {place}"
                step = "see whose with `tidelog transactions list`, or give this job a ledgerTopic of its own"
                raise SinkError(what, client.name, step)
            client.pause(PAUSE_MS)
        return end


def decisions(client: Client, topic: str) -> dict[str, Decision]:
    """Of every query, for operators."""
    consumer = Consumer(client, isolation="read_committed", out_of_range="earliest", max_wait_ms=0)
    place = TopicPartition(topic, 0)
    consumer.assign({place: consumer.beginning_offsets([place])[place]})
    return _last_of_each(consumer.read_to_end())


def _last_of_each(records: Iterable[ConsumerRecord]) -> dict[str, Decision]:
    last: dict[str, Decision] = {}
    for record in records:
        name = (record.key or b"").decode(errors="replace")
        last.pop(name, None)
        if record.value is not None:
            last[name] = decode(record.value)
    return last


def _make(client: Client, topic: str) -> None:
    if client.has_topic(topic):
        return
    try:
        Admin(client).create_topic(NewTopic(topic, 1, configs=CONFIGS))
        LOGGER.info("made the topic %s, the ledger of exactly-once queries", topic)
    except ClientError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise
    client.topic(topic, may_create=True)  # waits until it is known
