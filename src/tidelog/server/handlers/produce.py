"""Produce: every batch to the log of its partition; the answer when as many replicas have it as the client asked for.

acks=0 gets no answer; where something went wrong the connection is closed instead, which makes the client look for the
leader anew. acks=1 is answered when the leader has written it, acks=all when the high watermark has passed it.

The first batch of a transaction in a partition waits for the transaction's coordinator, and later requests of the
connection for it (`verification_queue`).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import StorageFault
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from tidelog.server.handling import Handler, RequestContext
from tidelog.server.internal_topics import is_internal
from tidelog.server.partition import ALL_REPLICAS, Partition
from tidelog.server.produce_path import FIRST_WITH_ZSTD, learn
from tidelog.server.verification_queue import Verified, find_leader, hold, is_transactional
from tidelog.storage.appended import Refused
from tidelog.storage.log_append import Append
from tidelog.storage.producer_verification import VerificationGuard

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

NO_ACKS, LEADER_ONLY = 0, 1
ADMIN_CLIENT = "__admin_client"  # the name by which Kafka's own tools may write to internal topics
UNKNOWN_OFFSET = -1
NO_TIMESTAMP = -1
_FIRST_WITH_LEADER = 10
# With any other refusal the log says where it begins: by that a producer tells that its records were deleted.
_WITHOUT_LOG_START = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


class Entry(NamedTuple):
    """One partition of a request, and what became of its batch."""

    topic_partition: TopicPartition
    topic_id: Uuid
    partition: Partition | None  # None: it was refused before it got there
    outcome: Append | Refused


@dataclass(eq=False, slots=True)
class DelayedProduce:
    """A produce request whose batches are staged, then written, then acknowledged."""

    context: RequestContext
    acks: int
    timeout_ms: int
    entries: list[Entry]
    is_done: bool = False

    def settle(self) -> None:
        """The end of the turn: everything is written. Answer, or wait."""
        if self.try_complete():
            return
        broker = self.context.connection.broker
        broker.purgatory.add(self, broker.turn.monotonic_ms + max(0, self.timeout_ms))
        for entry in self.entries:
            if entry.partition is not None and self._is_waiting(entry):
                entry.partition.produce_waiters[self] = None

    def try_complete(self) -> bool:
        if any(self._is_waiting(entry) for entry in self.entries):
            return False
        self._answer(is_expired=False)
        return True

    def _is_waiting(self, entry: Entry) -> bool:
        partition, append = entry.partition, entry.outcome
        if partition is None or isinstance(append, Refused) or append.code is not ErrorCode.NONE:
            return False
        if self.acks == NO_ACKS or not partition.is_leader or not partition.is_online:
            return False
        return append.last_offset >= partition.acknowledged_to(self.acks)

    def is_abandoned(self) -> bool:
        return self.context.connection.is_closed

    def expire(self) -> None:
        self._answer(is_expired=True)

    def _answer(self, *, is_expired: bool) -> None:
        self.is_done = True
        answers = [(entry, self._answer_to(entry, is_expired)) for entry in self.entries]
        if self.acks == NO_ACKS:
            self.context.respond_nothing()
            if any(answer.error_code for _entry, answer in answers):
                self.context.connection.close()
            return
        self.context.respond(_response(self.context, answers))

    def _answer_to(self, entry: Entry, is_expired: bool) -> PartitionProduceResponse:
        index, outcome, partition = entry.topic_partition.partition, entry.outcome, entry.partition
        if isinstance(outcome, Refused):
            answer = _refusal(index, outcome)
            if partition is not None and outcome.code not in _WITHOUT_LOG_START:
                answer.log_start_offset = partition.log.log_start_offset
            return answer
        if outcome.code is not ErrorCode.NONE:
            return _failure(index, outcome.code or ErrorCode.KAFKA_STORAGE_ERROR)
        assert partition is not None
        if not partition.is_leader:
            return _failure(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if not partition.is_online and outcome.last_offset >= partition.acknowledged_to(self.acks):
            return _failure(index, ErrorCode.KAFKA_STORAGE_ERROR)
        if is_expired and self._is_waiting(entry):
            return _failure(index, ErrorCode.REQUEST_TIMED_OUT)
        log_start = partition.log.log_start_offset
        return PartitionProduceResponse(
            index=index,
            error_code=0,
            base_offset=outcome.first_offset,
            log_append_time_ms=outcome.log_append_time,
            log_start_offset=log_start,
        )


def handle(broker: "Broker", context: RequestContext, body: ProduceRequest) -> None:
    if is_transactional(body) or context.connection in broker.transactions.held:
        hold(broker, context, body, _append_all)
        return
    entries = _append_all(broker, context, body, Verified())
    _learn_if_simple(context, body, entries)


def _append_all(broker: "Broker", context: RequestContext, body: ProduceRequest, verified: Verified) -> list[Entry]:
    entries = [
        _append(broker, context, body, topic, data, verified)
        for topic in body.topic_data
        for data in topic.partition_data
    ]
    broker.turn.produced.append(DelayedProduce(context, body.acks, body.timeout_ms, entries))
    return entries


def _append(
    broker: "Broker",
    context: RequestContext,
    body: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
    verified: Verified,
) -> Entry:
    place, found = find_leader(broker, context.api_version, topic, data.index)
    if isinstance(found, ErrorCode):
        return Entry(place, topic.topic_id, None, Refused(found, ""))
    refused = verified.refusals.get(place) or _refuse(context, body, found, data)
    if refused is not None:
        found.metrics.failed_produces += 1
        return Entry(place, topic.topic_id, None, refused)
    outcome = _append_to(broker, context, found, data, body.acks, verified.guards.get(place))
    return Entry(place, topic.topic_id, found, outcome)


def _refuse(
    context: RequestContext, body: ProduceRequest, partition: Partition, data: PartitionProduceData
) -> Refused | None:
    if not data.records:
        return Refused(ErrorCode.INVALID_RECORD, "a produce request carries one batch for each partition, here is none")
    if body.acks not in (NO_ACKS, LEADER_ONLY, ALL_REPLICAS):
        return Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={body.acks}; use 0, 1 or -1 (all)")
    if is_internal(partition.topic_partition.topic) and context.client_id != ADMIN_CLIENT:
        return Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, "only the cluster itself writes to its internal topics")
    return None


def _append_to(
    broker: "Broker",
    context: RequestContext,
    partition: Partition,
    data: PartitionProduceData,
    acks: int,
    guard: VerificationGuard | None,
) -> Append | Refused:
    view, turn = data.records, broker.turn
    assert view is not None
    outcome: Append | Refused
    if acks == ALL_REPLICAS and partition.is_under_min_isr:
        text = f"{partition.isr_size} replicas in sync, min.insync.replicas is {partition.min_isr}"
        outcome = Refused(ErrorCode.NOT_ENOUGH_REPLICAS, text)
    else:
        try:
            outcome = partition.log.append_as_leader(
                view,
                0,
                len(view),
                partition.leader_epoch,
                turn.wall_ms,
                guard=guard,
                allows_zstd=context.api_version >= FIRST_WITH_ZSTD,
            )
        except StorageFault as fault:
            outcome = broker.append_fault(partition, fault)
    metrics = partition.metrics
    metrics.produces += 1
    if isinstance(outcome, Refused):
        metrics.failed_produces += 1
        return outcome
    turn.appended[partition] = None
    metrics.bytes_in += len(view)
    metrics.messages_in += outcome.last_offset - outcome.first_offset + 1
    return outcome


def _learn_if_simple(context: RequestContext, body: ProduceRequest, entries: list[Entry]) -> None:
    is_simple = len(entries) == len(body.topic_data) == 1  # a topic without partitions may stand in front
    if not is_simple or body.acks == NO_ACKS or body.transactional_id is not None:
        return
    entry = entries[0]
    if entry.partition is not None and isinstance(entry.outcome, Append):
        learn(context.connection, context.request, body, entry.partition, context.frame_start)


def _refusal(index: int, refused: Refused) -> PartitionProduceResponse:
    answer = _failure(index, refused.code)
    answer.error_message = refused.message or None
    answer.record_errors = [
        BatchIndexAndErrorMessage(batch_index=each.index, batch_index_error_message=each.message)
        for each in refused.record_errors
    ]
    return answer


def _failure(index: int, code: ErrorCode) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index=index,
        error_code=code,
        base_offset=UNKNOWN_OFFSET,
        log_append_time_ms=NO_TIMESTAMP,
        log_start_offset=UNKNOWN_OFFSET,
    )


def _response(context: RequestContext, answers: list[tuple[Entry, PartitionProduceResponse]]) -> ProduceResponse:
    by_topic: dict[tuple[str, Uuid], TopicProduceResponse] = {}
    leaders: dict[int, NodeEndpoint] = {}
    for entry, answer in answers:
        key = (entry.topic_partition.topic, entry.topic_id)
        if key not in by_topic:
            by_topic[key] = TopicProduceResponse(
                name=entry.topic_partition.topic, topic_id=entry.topic_id, partition_responses=[]
            )
        by_topic[key].partition_responses.append(answer)
        if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and context.api_version >= _FIRST_WITH_LEADER:
            _name_leader(context, entry, answer, leaders)
    return ProduceResponse(responses=list(by_topic.values()), node_endpoints=list(leaders.values()))


def _name_leader(
    context: RequestContext, entry: Entry, answer: PartitionProduceResponse, leaders: dict[int, NodeEndpoint]
) -> None:
    """A misdirected producer is told where to go, which saves it a metadata request."""
    broker = context.connection.broker
    leader = broker.current_leader(entry.topic_partition)
    if leader is None:
        return
    answer.current_leader = LeaderIdAndEpoch(leader_id=leader.node_id, leader_epoch=leader.leader_epoch)
    endpoint = broker.endpoint_of(leader.node_id, context.connection.accepted)
    if endpoint is not None:
        leaders[leader.node_id] = NodeEndpoint(
            node_id=leader.node_id, host=endpoint.host, port=endpoint.port, rack=endpoint.rack
        )


def refuse(body: ProduceRequest, code: ErrorCode, message: str | None) -> ProduceResponse | None:
    if body.acks == NO_ACKS:
        return None
    by_topic: dict[tuple[str, Uuid], TopicProduceResponse] = {}
    for topic in body.topic_data:
        answers = [_refusal(data.index, Refused(code, message or "")) for data in topic.partition_data]
        known = by_topic.setdefault(
            (topic.name, topic.topic_id),
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=[]),
        )
        known.partition_responses += answers
    return ProduceResponse(responses=list(by_topic.values()))


PRODUCE = Handler(ApiKey.PRODUCE, handle, refuse)
