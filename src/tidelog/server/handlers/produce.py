"""Produce: every batch to the log of its partition; the answer when as many replicas have it as the client asked for.

acks=0 gets no answer; where something went wrong the connection is closed instead, which makes the client look for the
leader anew. acks=1 is answered when the leader has written it, acks=all when the high watermark has passed it.

The first batch of a transaction in a partition waits for the transaction's coordinator, and later requests of the
connection for it (`held_produces`). So do those behind a request that takes more than its turn
(`produce_appending`).
"""

from collections.abc import Callable
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
from tidelog.server.cluster.internal_topics import is_internal
from tidelog.server.hosting.partition import ALL_REPLICAS, Partition
from tidelog.server.produce.appending import ProduceAppending, ReadyBatch
from tidelog.server.produce.held_requests import Verified, find_leader, hold, hold_behind, is_transactional
from tidelog.server.produce.quick_path import FIRST_WITH_ZSTD, learn
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.handler import Handler, RequestContext, Steps, run_whole
from tidelog.storage.append.outcome import Refused, TooHeavy
from tidelog.storage.append.prepared_append import append_prepared
from tidelog.storage.append.rules import AppendRules
from tidelog.storage.log.group_commit import Append
from tidelog.storage.producers.verification import VerificationGuard

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

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
    settled: int = 0  # entries, from the first one, that nothing is waited for any more

    def settle(self) -> None:
        """The end of the turn: everything is written. Answer, or wait."""
        if not self.try_complete():
            broker = self.context.connection.broker
            broker.purgatory.add(self, broker.turn.monotonic_ms + max(0, self.timeout_ms))

    def try_complete(self) -> bool:
        """Go on from the entry that was waited for last: with thousands of them, each is looked at once or twice and
        not whenever another one moves."""
        entries = self.entries
        while self.settled < len(entries):
            entry = entries[self.settled]
            if self._is_waiting(entry):
                assert entry.partition is not None
                entry.partition.produce_waiters[self] = None
                return False
            self.settled += 1
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
        if len(self.entries) <= WHOLE_ELEMENTS_MAX:
            response = run_whole(self._answer_steps(is_expired))
            if response is not None:
                self.context.respond(response)
        else:
            # Where that fails the connection ends, as with a request that expects no answer: its batches are gone.
            unanswerable = ProduceRequest(acks=NO_ACKS, timeout_ms=0, topic_data=[])
            slices = self.context.connection.broker.slices
            slices.go_on(self.context, unanswerable, self._answer_steps(is_expired))

    def _answer_steps(self, is_expired: bool) -> Steps[ProduceResponse | None]:
        if self.acks != NO_ACKS:
            return (yield from _response(self.context, self.entries, lambda each: self._answer_to(each, is_expired)))
        has_failed = False
        for entry in self.entries:
            has_failed = has_failed or self._answer_to(entry, is_expired).error_code != ErrorCode.NONE
            yield
        self.context.respond_nothing()
        if has_failed:
            self.context.connection.close()
        return None

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


def steps(broker: "Broker", context: RequestContext, body: ProduceRequest) -> Steps[None]:
    """With many batches. What is appended is cut into turns by itself (`produce_appending`)."""
    if is_transactional(body):
        yield from hold(broker, context, body, _append_all)
    else:
        handle(broker, context, body)


def handle(broker: "Broker", context: RequestContext, body: ProduceRequest) -> None:
    if is_transactional(body) or context.connection in broker.transactions.held:
        run_whole(hold(broker, context, body, _append_all))
        return
    entries: list[Entry] = []
    appending = _appending(broker, context, body, Verified(), entries)
    if appending.go_on():
        if not appending.has_failed:
            _learn_if_simple(context, body, entries)
    else:
        hold_behind(broker, context.connection, appending)


def _append_all(
    broker: "Broker", context: RequestContext, body: ProduceRequest, verified: Verified
) -> ProduceAppending:
    return _appending(broker, context, body, verified, [])


def _appending(
    broker: "Broker", context: RequestContext, body: ProduceRequest, verified: Verified, entries: list[Entry]
) -> ProduceAppending:
    """What becomes of the batches is in `entries`, and answered when they are all there."""

    def append(topic: TopicProduceData, data: PartitionProduceData, ready: ReadyBatch | None) -> AppendRules | None:
        entry = _append(broker, context, body, topic, data, verified, ready)
        if isinstance(entry.outcome, TooHeavy):
            assert entry.partition is not None
            return entry.partition.log.rules
        entries.append(entry)
        return None

    def settle() -> None:
        broker.turn.produced.append(DelayedProduce(context, body.acks, body.timeout_ms, entries))

    return ProduceAppending(context, body, append, settle)


def _append(
    broker: "Broker",
    context: RequestContext,
    body: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
    verified: Verified,
    ready: ReadyBatch | None,
) -> Entry:
    topic_partition, found = find_leader(broker, context.api_version, topic, data.index)
    if isinstance(found, ErrorCode):
        return Entry(topic_partition, topic.topic_id, None, Refused(found, ""))
    refused = verified.refusals.get(topic_partition) or _refuse(context, body, found, data)
    if refused is not None:
        found.metrics.failed_produces += 1
        return Entry(topic_partition, topic.topic_id, None, refused)
    outcome = _append_to(broker, context, found, data, body.acks, verified.guards.get(topic_partition), ready)
    return Entry(topic_partition, topic.topic_id, found, outcome)


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
    ready: ReadyBatch | None,
) -> Append | Refused:
    view, turn = data.records, broker.turn
    assert view is not None
    outcome: Append | Refused
    if acks == ALL_REPLICAS and partition.is_under_min_isr:
        text = f"{partition.isr_size} replicas in sync, min.insync.replicas is {partition.min_isr}"
        outcome = Refused(ErrorCode.NOT_ENOUGH_REPLICAS, text)
    else:
        try:
            outcome = _stage(broker, context, partition, view, guard, ready)
        except StorageFault as fault:
            outcome = broker.append_fault(partition, fault)
    if isinstance(outcome, TooHeavy):
        return outcome
    metrics = partition.metrics
    metrics.produces += 1
    if isinstance(outcome, Refused):
        metrics.failed_produces += 1
        return outcome
    turn.appended[partition] = None
    metrics.bytes_in += len(view)
    metrics.messages_in += outcome.last_offset - outcome.first_offset + 1
    return outcome


def _stage(
    broker: "Broker",
    context: RequestContext,
    partition: Partition,
    view: memoryview,
    guard: VerificationGuard | None,
    ready: ReadyBatch | None,
) -> Append | Refused:
    log, wall_ms = partition.log, broker.turn.wall_ms
    if ready is not None and ready.rules is log.rules:
        if isinstance(ready.outcome, Refused):
            return ready.outcome
        return append_prepared(log, view, ready.outcome, partition.leader_epoch, wall_ms, guard)
    return log.append_as_leader(
        view,
        0,
        len(view),
        partition.leader_epoch,
        wall_ms,
        guard=guard,
        allows_zstd=context.api_version >= FIRST_WITH_ZSTD,
        is_inline=broker.preparations.has_workers,
    )


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


def _response(
    context: RequestContext, entries: list[Entry], answer_to: Callable[[Entry], PartitionProduceResponse]
) -> Steps[ProduceResponse]:
    by_topic: dict[tuple[str, Uuid], TopicProduceResponse] = {}
    leaders: dict[int, NodeEndpoint] = {}
    for entry in entries:
        answer = answer_to(entry)
        key = (entry.topic_partition.topic, entry.topic_id)
        if key not in by_topic:
            by_topic[key] = TopicProduceResponse(
                name=entry.topic_partition.topic, topic_id=entry.topic_id, partition_responses=[]
            )
        by_topic[key].partition_responses.append(answer)
        if answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and context.api_version >= _FIRST_WITH_LEADER:
            _name_leader(context, entry, answer, leaders)
        yield
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


PRODUCE = Handler(ApiKey.PRODUCE, handle, refuse, steps=steps)
