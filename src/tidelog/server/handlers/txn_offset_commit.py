"""TxnOffsetCommit: a group's position as part of a transaction: it counts when that is committed.

Two coordinators have a word in it. The transaction's says whether the group's partition of `__consumer_offsets` belongs
to the transaction (`verification`; version 5 adds it by that), then the group's keeps the offsets until the marker.
"""

from typing import TYPE_CHECKING, Any

from tidelog.config.settings.transactions import TRANSACTION_PARTITION_VERIFICATION_ENABLE
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from tidelog.records.header import NO_SEQUENCE
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS
from tidelog.server.coordination.asking import coordinator_request
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole
from tidelog.server.transactions.verification import Producer, Refusals, ask_coordinator, asking_of_txn_offset_commit
from tidelog.storage.append.outcome import Refused
from tidelog.storage.producers.verification import VerificationGuard

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

_FIRST_WITH_LOADING = 2  # older producers give up on COORDINATOR_LOAD_IN_PROGRESS

# What is said of the offsets partition, as a group's clients understand it.
_OF_A_COORDINATOR = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}


def steps(
    broker: "Broker", context: RequestContext, body: TxnOffsetCommitRequest
) -> Steps[TxnOffsetCommitResponse | None]:
    unknown = yield from _take_out_unknown(broker, body)
    if not body.topics:
        return _merged(unknown, [])
    if not body.group_id:
        return _merged(unknown, refuse(body, ErrorCode.INVALID_GROUP_ID, None).topics)
    _Commit(broker, context, body, unknown).begin()
    return None


class _Commit:
    """One request, from the transaction's coordinator to the group's."""

    def __init__(
        self,
        broker: "Broker",
        context: RequestContext,
        body: TxnOffsetCommitRequest,
        unknown: list[TxnOffsetCommitResponseTopic],
    ) -> None:
        self._broker = broker
        self._context = context
        self._body = body
        self._unknown = unknown

    def begin(self) -> None:
        broker, body = self._broker, self._body
        asking = asking_of_txn_offset_commit(self._context.api_version)
        topic_partition = TopicPartition(CONSUMER_OFFSETS, broker.coordinators.groups.partition_for(body.group_id))
        if not asking.adds and not broker.config.get(TRANSACTION_PARTITION_VERIFICATION_ENABLE):
            self._commit()
            return
        guard = self._start_verification(topic_partition, adds=asking.adds)
        if isinstance(guard, ErrorCode):
            self._refuse(guard)
        elif guard is None:
            self._commit()
        else:
            producer = Producer(body.transactional_id, body.producer_id, body.producer_epoch)
            ask_coordinator(broker, producer, [topic_partition], asking, self._verified)

    def _start_verification(
        self, topic_partition: TopicPartition, *, adds: bool
    ) -> VerificationGuard | ErrorCode | None:
        """The guard stays with the log, and is found there by the append (`coordinator_log`)."""
        found = self._broker.leader_of(topic_partition)
        if isinstance(found, ErrorCode):
            return found
        body = self._body
        begun = found.log.producers.start_verification(
            self._broker.turn.wall_ms, body.producer_id, body.producer_epoch, NO_SEQUENCE, supports_epoch_bump=adds
        )
        return begun.code if isinstance(begun, Refused) else begun

    def _verified(self, refusals: Refusals) -> None:
        code = next(iter(refusals.values()), None)
        if code is not None:
            self._refuse(code)
        else:
            self._commit()

    def _commit(self) -> None:
        request = coordinator_request(self._broker, self._context, self._body)
        self._broker.coordinators.groups.submit(self._body.group_id, request, self._answered)

    def _answered(self, answer: Any) -> None:
        if isinstance(answer, TxnOffsetCommitResponse):
            self._respond(answer)
        else:
            self._refuse(answer.code if isinstance(answer, ApiError) else answer)

    def _refuse(self, code: ErrorCode) -> None:
        self._respond(refuse(self._body, _OF_A_COORDINATOR.get(code, code), None))

    def _respond(self, response: TxnOffsetCommitResponse) -> None:
        if self._context.api_version < _FIRST_WITH_LOADING:
            for topic in response.topics:
                for each in topic.partitions:
                    if each.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                        each.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        self._context.respond(_merged(self._unknown, response.topics))


def _take_out_unknown(broker: "Broker", body: TxnOffsetCommitRequest) -> Steps[list[TxnOffsetCommitResponseTopic]]:
    """Partitions that do not exist are answered so, and nobody is asked about them."""
    unknown: list[TxnOffsetCommitResponseTopic] = []
    known: list[TxnOffsetCommitRequestTopic] = []
    for topic in body.topics:
        there: list[TxnOffsetCommitRequestPartition] = []
        not_there: list[TxnOffsetCommitRequestPartition] = []
        for each in topic.partitions:
            is_there = broker.has_partition(TopicPartition(topic.name, each.partition_index))
            (there if is_there else not_there).append(each)
            yield
        if there:
            known.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=there))
        if not_there:
            refused = TxnOffsetCommitRequestTopic(name=topic.name, partitions=not_there)
            unknown.append(_answer(refused, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    body.topics = known
    return unknown


def _merged(
    unknown: list[TxnOffsetCommitResponseTopic], answered: list[TxnOffsetCommitResponseTopic]
) -> TxnOffsetCommitResponse:
    """A topic has one place in a response."""
    topics: dict[str, TxnOffsetCommitResponseTopic] = {}
    for topic in [*unknown, *answered]:
        known = topics.setdefault(topic.name, topic)
        if known is not topic:
            known.partitions += topic.partitions
    return TxnOffsetCommitResponse(throttle_time_ms=0, topics=list(topics.values()))


def _answer(topic: TxnOffsetCommitRequestTopic, code: ErrorCode) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(
        name=topic.name,
        partitions=[
            TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
            for each in topic.partitions
        ],
    )


def refuse(body: TxnOffsetCommitRequest, code: ErrorCode, _message: str | None) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(throttle_time_ms=0, topics=[_answer(topic, code) for topic in body.topics])


TXN_OFFSET_COMMIT = Handler(ApiKey.TXN_OFFSET_COMMIT, whole(steps), refuse, steps=steps)
