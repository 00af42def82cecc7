"""Batches to leaders and answers to lines: the half of the producer that talks to brokers.

A request takes at most one batch of a partition, and a broker has at most five requests of ours at a time. Leaders are
looked up when a batch is sent: one that moved is found when it is sent again.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from tidelog.client.client import Client
from tidelog.client.errors import ClientError, error_code
from tidelog.client.producer.batch import Compression, ProducerBatch
from tidelog.client.producer.partition_line import PartitionLine
from tidelog.client.producer.producer_ids import SharedProducerId
from tidelog.client.producer.split import halves
from tidelog.client.producer.transaction import ProducerTransaction
from tidelog.client.record import Acks
from tidelog.model.errors import RETRIABLE, ErrorCode
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

REQUESTS_IN_FLIGHT: Final = 5
REQUEST_BYTES: Final = 1 << 20  # about: the first batch of a request is sent whatever its size
NO_ACKS: Final = 0

Sent = list[tuple[PartitionLine, ProducerBatch]]
OnAcknowledged = Callable[[PartitionLine, ProducerBatch, int], None]
OnFailed = Callable[[PartitionLine, ProducerBatch, ClientError], None]


class Sender:
    def __init__(
        self,
        client: Client,
        acks: Acks,
        is_idempotent: bool,
        on_acknowledged: OnAcknowledged,
        on_failed: OnFailed,
        compression: Compression,
        transaction: ProducerTransaction | None = None,
    ) -> None:
        self._client = client
        self._acks = acks
        self._is_idempotent = is_idempotent
        self._on_acknowledged = on_acknowledged
        self._on_failed = on_failed
        self._compression = compression
        self._transaction = transaction
        self._producer_ids = SharedProducerId(client) if transaction is None else transaction
        self._in_flight: dict[int, int] = {}  # requests, by broker

    def dispatch(self, lines: Iterable[PartitionLine], now_ms: int) -> None:
        """Send whatever may be sent now."""
        if self._is_idempotent:
            self._identify(lines, now_ms)
        while by_leader := self._sendable(lines, now_ms):
            if self._transaction is not None:
                self._transaction.enter(line.partition for ready in by_leader.values() for line in ready)
            for leader, ready in by_leader.items():
                self._send(leader, ready)

    def _sendable(self, lines: Iterable[PartitionLine], now_ms: int) -> dict[int, list[PartitionLine]]:
        by_leader: dict[int, list[PartitionLine]] = {}
        for line in lines:
            if not line.may_send(now_ms) or (self._is_idempotent and line.identity is None):
                continue
            leader = self._client.metadata.leader(line.partition)
            if leader is None:
                self._client.refresh_soon()
            elif self._in_flight.get(leader, 0) < REQUESTS_IN_FLIGHT and line.may_send_to(leader):
                by_leader.setdefault(leader, []).append(line)
        return by_leader

    def _send(self, leader: int, ready: list[PartitionLine]) -> None:
        sent: Sent = []
        total_bytes = 0
        for line in ready:
            if sent and total_bytes + len(line.waiting[0].body) > REQUEST_BYTES:
                break
            batch = line.begin_sending(leader)
            sent.append((line, batch))
            total_bytes += len(batch.body)
        self._in_flight[leader] = self._in_flight.get(leader, 0) + 1
        request = self._request(sent)
        names = {topic.topic_id: topic.name for topic in request.topic_data}
        on_done = partial(self._done, leader, sent, names)
        version_max = None if self._transaction is None else self._transaction.produce_version_max
        expects_response = self._acks != NO_ACKS
        self._client.send(leader, request, on_done, expects_response=expects_response, version_max=version_max)

    def _identify(self, lines: Iterable[PartitionLine], now_ms: int) -> None:
        """Give each line that has none the producer id that all lines share, or another where the epochs of that one
        ran out. Until the broker has answered the lines wait."""
        for line in lines:
            if line.identity is not None or not line.waiting:
                continue
            found = self._producer_ids.get(now_ms, line.used_up_id)
            if isinstance(found, ClientError):
                while line.waiting:
                    self._on_failed(line, line.waiting.popleft(), found)
            elif found is not None:
                line.identity = found

    def _request(self, sent: Sent) -> ProduceRequest:
        topics: dict[str, TopicProduceData] = {}
        for line, batch in sent:
            name, index = line.partition
            if name not in topics:
                topics[name] = TopicProduceData(name=name, topic_id=self._topic_id(name), partition_data=[])
            topics[name].partition_data.append(PartitionProduceData(index=index, records=batch.seal()))
        timeout_ms = self._client.request_timeout_ms
        request = ProduceRequest(acks=self._acks, timeout_ms=timeout_ms, topic_data=list(topics.values()))
        if self._transaction is not None:
            request.transactional_id = self._transaction.transactional_id
        return request

    def _topic_id(self, name: str) -> Uuid:
        known = self._client.metadata.topics.get(name)
        return ZERO_UUID if known is None else known.topic_id

    # Answers

    def _done(
        self, leader: int, sent: Sent, names: dict[Uuid, str], outcome: ProduceResponse | ClientError | None
    ) -> None:
        self._in_flight[leader] -= 1
        if outcome is None:  # acks=0
            for line, batch in sent:
                self._acknowledge(line, batch, -1)
        elif isinstance(outcome, ClientError):
            for line, batch in sent:
                self._not_written(line, batch, outcome)
        else:
            self._read(sent, names, outcome)

    def _read(self, sent: Sent, names: dict[Uuid, str], response: ProduceResponse) -> None:
        answers = {
            TopicPartition(topic.name or names.get(topic.topic_id, ""), each.index): each
            for topic in response.responses
            for each in topic.partition_responses
        }
        for line, batch in sent:
            answer = answers.get(line.partition)
            if answer is None:
                self._not_written(line, batch, self._error(line, ErrorCode.UNKNOWN_SERVER_ERROR, "not in the response"))
            elif answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self._acknowledge(line, batch, answer.base_offset)
            else:
                self._not_written(line, batch, self._error(line, error_code(answer.error_code), _message_of(answer)))

    def _acknowledge(self, line: PartitionLine, batch: ProducerBatch, base_offset: int) -> None:
        line.acknowledged(batch)
        self._on_acknowledged(line, batch, base_offset)

    def _not_written(self, line: PartitionLine, batch: ProducerBatch, error: ClientError) -> None:
        """Try a batch again, split it, or give it up. It may have been written all the same: if it comes again, the
        broker finds out by its sequence."""
        if error.code in RETRIABLE:
            self._client.refresh_soon()
        if error.code in RETRIABLE or line.is_gap(error.code):
            line.failed(batch, error, self._client.now_ms())
        elif error.code is ErrorCode.MESSAGE_TOO_LARGE and batch.records_count > 1:
            line.split(batch, halves(batch, self._compression))
        else:
            line.refused(batch)
            self._on_failed(line, batch, error)

    def _error(self, line: PartitionLine, code: ErrorCode, message: str | None) -> ClientError:
        leader = self._client.metadata.leader(line.partition)
        of = self._client.name if leader is None else str(self._client.metadata.nodes[leader])
        return ClientError(code, f"produce to {line.partition}", of, message)


def _message_of(answer: PartitionProduceResponse) -> str | None:
    records = [f"record {each.batch_index}: {each.batch_index_error_message}" for each in answer.record_errors[:3]]
    return "; ".join([*([answer.error_message] if answer.error_message else []), *records]) or None
