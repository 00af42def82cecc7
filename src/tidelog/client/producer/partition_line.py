"""The batches of one partition, in line: nothing overtakes, nothing is written twice.

    open -> waiting -> in flight -> acknowledged
               ^           |      -> refused for good
               +- retries <+      (once nothing of the line is in flight any more, in the order of sending)

With a producer id every batch has a sequence, given when it is first sent and kept through its retries: the broker
takes a batch only behind the one before it, and knows one that it has already. So several may be in flight; when one
fails, those behind it are refused as out of order, and all of them go again. Without a producer id nobody would
notice, and only one is in flight at a time.

When a batch is given up, its sequence is missing, unless it was written after all. The next batch finds out: if it is
refused as out of order though nothing before it is left, then the broker has not got the one before, and cannot have
any that follows. Only then is it safe to begin again at 0 under the next epoch.
"""

from collections import deque
from typing import Final

from tidelog.client.backoff import Backoff
from tidelog.client.errors import ClientError
from tidelog.client.producer.batch import Compression, OpenBatch, ProducerBatch
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_ID, TopicPartition
from tidelog.records.header import NO_SEQUENCE, increment_sequence

MAX_PRODUCER_EPOCH: Final = 0x7FFF
IN_FLIGHT_IDEMPOTENT: Final = 5  # as many as a broker remembers of a producer
IN_FLIGHT_PLAIN: Final = 1

_OUT_OF_ORDER: Final = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)


class PartitionLine:
    def __init__(
        self, partition: TopicPartition, backoff: Backoff, *, is_idempotent: bool, is_transactional: bool = False
    ) -> None:
        self.partition = partition
        self.is_idempotent = is_idempotent
        self.is_transactional = is_transactional
        self.identity: ProducerIdAndEpoch | None = None
        self.used_up_id: int = NO_PRODUCER_ID  # a producer id whose epochs ran out
        self.leader: int | None = None  # the leader that has the batches in flight
        self.open: OpenBatch | None = None
        self.waiting: deque[ProducerBatch] = deque()
        self.in_flight: deque[ProducerBatch] = deque()
        self.retries: list[ProducerBatch] = []
        self.retry_at_ms = 0
        self._backoff = backoff
        self._next_sequence = 0
        self._next_number = 0
        self._needs_new_epoch = False

    @property
    def is_idle(self) -> bool:
        return self.open is None and not self.waiting and not self.in_flight and not self.retries

    def close(self, compression: Compression) -> None:
        """Close the open batch, which then waits to be sent."""
        if self.open is not None:
            self.waiting.append(self.open.close(compression))
            self.open = None

    def may_send(self, now_ms: int) -> bool:
        in_flight_max = IN_FLIGHT_IDEMPOTENT if self.is_idempotent else IN_FLIGHT_PLAIN
        has_room = len(self.in_flight) < in_flight_max and not self.retries
        return bool(self.waiting) and has_room and now_ms >= self.retry_at_ms

    def may_send_to(self, leader: int) -> bool:
        """Tell whether a batch may go to this leader. Batches in flight to another leader have to be answered first, or
        the new one could overtake them."""
        return not self.in_flight or self.leader == leader

    def begin_sending(self, leader: int) -> ProducerBatch:
        """Return the next batch, which is in flight from now on."""
        self.leader = leader
        batch = self.waiting.popleft()
        if self.identity is not None and batch.sequence == NO_SEQUENCE:
            batch.producer_id, batch.producer_epoch = self.identity
            batch.sequence = self._next_sequence
            batch.is_transactional = self.is_transactional
            self._next_sequence = increment_sequence(self._next_sequence, batch.records_count)
        batch.number = self._next_number
        self._next_number += 1
        self.in_flight.append(batch)
        return batch

    def acknowledged(self, batch: ProducerBatch) -> None:
        self.in_flight.remove(batch)
        self._backoff.reset()
        self._requeue_failed()

    def refused(self, batch: ProducerBatch) -> None:
        """Remove a batch that will not be tried again."""
        self.in_flight.remove(batch)
        self._requeue_failed()

    def split(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """Put the parts of a batch in its place, to be tried again."""
        self.in_flight.remove(batch)
        self.retries += parts
        self._requeue_failed()

    def failed(self, batch: ProducerBatch, error: ClientError, now_ms: int) -> None:
        """Keep the batch, to be tried again after a pause, or at once after a gap (`is_gap`)."""
        self.in_flight.remove(batch)
        if self.is_gap(error.code) and not self.retries:
            self._needs_new_epoch = True
        batch.last_error = error
        self.retries.append(batch)
        if not self.is_gap(error.code):
            self.retry_at_ms = now_ms + self._backoff.next_ms()
        self._requeue_failed()

    def is_gap(self, code: ErrorCode) -> bool:
        """Tell whether the code says that the batch before is missing, and that can be made good: by sending it again,
        or under a new epoch. In a transaction only by sending again: what is missing there is missing for good."""
        may_mend = bool(self.retries) or not self.is_transactional
        return self.is_idempotent and code in _OUT_OF_ORDER and may_mend

    def expired(self, before_ms: int) -> list[ProducerBatch]:
        """Remove and return the waiting batches that are older. Nothing expires while a batch is in flight."""
        found: list[ProducerBatch] = []
        while self.waiting and not self.in_flight and self.waiting[0].created_ms < before_ms:
            found.append(self.waiting.popleft())
        return found

    def drop(self) -> list[ProducerBatch]:
        """Remove and return all batches that wait to be sent, or sent again, because their transaction is aborted."""
        dropped = [*self.retries, *self.waiting]
        self.retries.clear()
        self.waiting.clear()
        return dropped

    def begin_transaction(self, identity: ProducerIdAndEpoch | None) -> None:
        """Take over the transaction's producer id and epoch while the line is empty. Another epoch has sequences of its
        own."""
        if identity != self.identity:
            self.identity, self._next_sequence = identity, 0

    def _requeue_failed(self) -> None:
        """Put the failed batches at the front of the line, once nothing is in flight any more."""
        if self.in_flight or not self.retries:
            return
        self.retries.sort(key=lambda batch: batch.number)
        self.waiting.extendleft(reversed(self.retries))
        self.retries.clear()
        if self._needs_new_epoch:
            self._begin_epoch()

    def _begin_epoch(self) -> None:
        """Number all batches that were not written from 0 under the next epoch; after the last epoch, under a new
        producer id."""
        self._needs_new_epoch, self._next_sequence = False, 0
        for batch in self.waiting:
            batch.sequence = NO_SEQUENCE
        if self.identity is not None:
            producer_id, epoch = self.identity
            self.identity = None if epoch == MAX_PRODUCER_EPOCH else ProducerIdAndEpoch(producer_id, epoch + 1)
            self.used_up_id = producer_id if self.identity is None else NO_PRODUCER_ID
