"""The records that a scenario left in `__consumer_offsets` and `__transaction_state`, as other brokers and the next
start will read them."""

from collections.abc import Iterator
from typing import Any

from tests.interop.apache.transactions.script import Script

from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.record_framing import RecordTypesById, decode_record
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.records.batch import RecordBatch, batches
from tidelog.records.header import BatchHeader
from tidelog.records.record import Record

LATEST = -1
TOPICS: dict[str, RecordTypesById] = {"__transaction_state": TRANSACTION_RECORDS, "__consumer_offsets": GROUP_RECORDS}


class Stored:
    """The coordinators' records that were written since this object was made."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._ends = {topic: self._end(topic) for topic in TOPICS}

    def record(self) -> None:
        for topic, types in TOPICS.items():
            found = [
                (self._script.batch(batch) if batch.header.is_control else self._record(types, batch, record))
                for batch in self._fetch(topic, self._ends[topic])
                for record in batch.records()
                if batch.header.is_control or self._is_own(types, record)
            ]
            if found:
                self._script.note(f"records in {topic}", found)

    def _is_own(self, types: RecordTypesById, record: Record) -> bool:
        """Tell whether the record is of this scenario: on a slow machine a member of an earlier one may expire
        meanwhile."""
        key = decode_record(types, record.key or b"", None).key
        names = [getattr(key, name, "") for name in ("transactional_id", "group", "group_id")]
        return any(name.startswith(self._script.name) for name in names)

    def _end(self, topic: str) -> int:
        wanted = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=LATEST)])
        answer = self._script.ask_unrecorded(ListOffsetsRequest(replica_id=-1, topics=[wanted]), 7)
        return int(answer.topics[0].partitions[0].offset)

    def _fetch(self, topic: str, offset: int) -> Iterator[RecordBatch]:
        """Yield all batches from that offset on."""
        while True:
            wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 22)
            topics = [FetchTopic(topic=topic, partitions=[wanted])]
            request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=topics)
            data = self._script.ask_unrecorded(request, 12).responses[0].partitions[0]
            found = list(batches(bytes(data.records or b"")))
            if not found:
                return
            yield from found
            offset = found[-1].header.last_offset + 1

    def _record(self, types: RecordTypesById, batch: RecordBatch, record: Record) -> dict[str, Any]:
        decoded = decode_record(types, record.key or b"", record.value)
        script = self._script
        return {
            "key": script.plain(decoded.key, 0),
            "version": decoded.value_version,
            "value": script.plain(decoded.value, decoded.value_version or 0),
            "by": self._producer(batch.header),
        }

    def _producer(self, header: BatchHeader) -> tuple[str | int, ...]:
        """Return producer id, epoch and sequence; nothing for a batch without a producer, whose sequence means nothing
        (Apache's group coordinator writes 0)."""
        if not header.has_producer_id:
            return ()
        return self._script.plain_producer(header.producer_id), header.producer_epoch, header.base_sequence
