"""Producers and transactions replayed from the log, to hold the snapshots and the transaction indexes against.

The replay is a dumb twin of the broker's: it keeps what the last batch of each producer says and which transaction it
has open, and judges nothing. Where the log no longer has the beginning (retention), or has holes (compaction), it
knows less than the files do, and only contradictions count.
"""

from dataclasses import dataclass

from tidelog.records.batch import RecordBatch
from tidelog.records.header import NO_SEQUENCE, BatchHeader
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.producers.entry import NO_OFFSET, ProducerEntry
from tidelog.storage.producers.markers import marker_of
from tidelog.storage.segment.transaction_index import AbortedTxn


@dataclass(slots=True)
class Replayed:
    epoch: int
    last_sequence: int = NO_SEQUENCE
    last_offset: int = NO_OFFSET
    txn_first_offset: int | None = None


class ProducerReplay:
    def __init__(self) -> None:
        self.producers: dict[int, Replayed] = {}
        self.first_offset: int | None = None  # of the first batch there is
        # Markers that ended a transaction with an abort: (producer, offset) to the first offset, where it is known.
        self.aborted: dict[tuple[int, int], int | None] = {}

    def pass_batch(self, batch: RecordBatch) -> None:
        header = batch.header
        if self.first_offset is None:
            self.first_offset = header.base_offset
        if not header.has_producer_id:
            return
        if header.is_control:
            self._pass_marker(batch)
        else:
            self._pass_data(header)

    def _pass_data(self, header: BatchHeader) -> None:
        producer = self._producer(header)
        producer.last_sequence = header.last_sequence
        producer.last_offset = header.last_offset
        # What compaction leaves of a batch whose records are all gone has no part in a transaction any more.
        if header.is_transactional and producer.txn_first_offset is None and header.records_count:
            producer.txn_first_offset = header.base_offset

    def _pass_marker(self, batch: RecordBatch) -> None:
        header = batch.header
        marker = marker_of(batch.view)
        if marker is None:
            return
        producer = self._producer(header)
        if not marker.committed:
            self.aborted[header.producer_id, header.base_offset] = producer.txn_first_offset
        producer.txn_first_offset = None

    def _producer(self, header: BatchHeader) -> Replayed:
        """Return what is known of the batch's producer. Another epoch begins another sequence, but ends no transaction:
        its marker may carry the next epoch."""
        known = self.producers.get(header.producer_id)
        if known is None or known.epoch != header.producer_epoch:
            txn_first_offset = known.txn_first_offset if known else None
            known = Replayed(header.producer_epoch, txn_first_offset=txn_first_offset)
            self.producers[header.producer_id] = known
        return known

    # Against a snapshot

    def contradictions(self, entries: list[ProducerEntry]) -> list[str]:
        """Return the contradictions between the entries of a snapshot and the log so far. A producer that only one of
        the two knows is no contradiction: it expired, or its records are gone."""
        known = [(entry, self.producers[entry.producer_id]) for entry in entries if entry.producer_id in self.producers]
        return [reason for entry, replayed in known for reason in self._contradictions(entry, replayed)]

    def _contradictions(self, entry: ProducerEntry, replayed: Replayed) -> list[str]:
        who = f"producer {entry.producer_id}"
        if entry.producer_epoch != replayed.epoch:
            return [f"{who} has epoch {entry.producer_epoch}, the log says {replayed.epoch}"]
        reasons = []
        said = (entry.last_sequence, entry.last_data_offset)
        logged = (replayed.last_sequence, replayed.last_offset)
        if said != logged and not self._is_gone(entry.last_data_offset, replayed.last_offset):
            reasons.append(f"{who} has sequence {said[0]} at offset {said[1]}, the log {logged[0]} at {logged[1]}")
        first = NO_OFFSET if entry.current_txn_first_offset is None else entry.current_txn_first_offset
        logged_first = NO_OFFSET if replayed.txn_first_offset is None else replayed.txn_first_offset
        if first != logged_first and not self._is_gone(first, logged_first):
            reasons.append(f"{who} has a transaction open from {first}, the log from {logged_first} (-1: none)")
        return reasons

    def _is_gone(self, said: int, logged: int) -> bool:
        """Tell whether the file speaks of records from before the log begins, of which the log has nothing to say."""
        assert self.first_offset is not None
        return logged == NO_OFFSET and 0 <= said < self.first_offset

    # Against the transaction index of a segment

    def check_transaction_index(self, path: str, entries: list[AbortedTxn]) -> list[Finding]:
        """Compare the index of a segment with the abort markers in `aborted`, which are those of this one segment and
        are used up."""
        found = {(entry.producer_id, entry.last_offset): entry for entry in entries}
        findings = [Finding(path, reason) for key in found for reason in self._entry_problems(found[key])]
        for (producer_id, last_offset), first_offset in self.aborted.items():
            if first_offset is None or (producer_id, last_offset) in found:
                continue
            what = f"the transaction of producer {producer_id} from {first_offset} to {last_offset}"
            findings.append(Finding(path, f"{what} was aborted and is not in it: its records would be read"))
        self.aborted = {}
        return findings

    def _entry_problems(self, entry: AbortedTxn) -> list[str]:
        what = f"producer {entry.producer_id}, offsets {entry.first_offset} to {entry.last_offset}"
        key = (entry.producer_id, entry.last_offset)
        if key not in self.aborted:
            return [f"{what}: the log has no abort there, and would hide what was committed"]
        logged_first = self.aborted[key]
        reasons = []
        if logged_first is not None and entry.first_offset > logged_first:
            reasons.append(f"{what}: the log has the first record at {logged_first}")
        if entry.last_stable_offset > entry.last_offset + 1:
            reasons.append(f"{what}: a last stable offset of {entry.last_stable_offset} is behind its end")
        return reasons
