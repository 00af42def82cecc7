"""A batch that is too large for its topic, as two: the topic may have a lower `max.message.bytes` than the producer
reckons with, and its records may well fit one by one. Kafka's own client does the same.

The halves have the sequences of the whole, so that whatever was sent behind it keeps its own. Rare, so the records are
taken out of the encoded bytes instead of being kept beside them for every batch.
"""

from typing import Final

from tidelog.client.fetch.decoding import records_of
from tidelog.client.fetch.kernels_rows import decode_rows
from tidelog.client.producer.batch import Compression, OnDelivery, OpenBatch, ProducerBatch
from tidelog.client.record import ConsumerRecord
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.header import NO_SEQUENCE, increment_sequence

_NOWHERE: Final = TopicPartition("", 0)
_BODY_BYTES_MAX: Final = 1 << 30
_MILLISECONDS: Final = 1


def halves(batch: ProducerBatch, compression: Compression) -> list[ProducerBatch]:
    """Return a batch that has more than one record as two batches."""
    records = _records(batch)
    middle = len(records) // 2
    first = _batch(batch, records[:middle], compression, [each for each in batch.on_delivery if each[0] < middle])
    later = [(index - middle, call) for index, call in batch.on_delivery if index >= middle]
    second = _batch(batch, records[middle:], compression, later)
    first.size_bytes = batch.size_bytes // 2
    second.size_bytes = batch.size_bytes - first.size_bytes
    if batch.sequence != NO_SEQUENCE:
        second.sequence = increment_sequence(batch.sequence, middle)
    return [first, second]


def _records(batch: ProducerBatch) -> list[ConsumerRecord]:
    body = batch.body
    if batch.codec is not CompressionType.NONE:
        body = bytes(Inflater(_BODY_BYTES_MAX).inflate(batch.codec, memoryview(body), 0))
    data = batch.sealed(body, CompressionType.NONE)
    found = records_of(_NOWHERE, decode_rows(data, 0, len(data), 0, batch.records_count, _MILLISECONDS, False))
    assert len(found) == batch.records_count, "we have encoded them"
    return found


def _batch(
    whole: ProducerBatch,
    records: list[ConsumerRecord],
    compression: Compression,
    on_delivery: list[tuple[int, OnDelivery]],
) -> ProducerBatch:
    opened = OpenBatch(whole.created_ms)
    for record in records:
        opened.append(record.key, record.value, record.timestamp, record.headers, 0, None)
    made = opened.close(compression)
    made.on_delivery, made.on_refused, made.last_error = on_delivery, whole.on_refused, whole.last_error
    made.producer_id, made.producer_epoch, made.sequence = whole.producer_id, whole.producer_epoch, whole.sequence
    made.is_transactional, made.number = whole.is_transactional, whole.number
    return made
