"""Transactions as their coordinators know them, and ending those that nobody else ends.

A transaction can be ended by whoever knows its transactional id, producer id and epoch (`end_transaction`): a process
may begin one and leave it to another to commit, as a Spark sink does. One whose producer is gone is ended by its
timeout, or by `fence_producer` at once. One that its coordinator does not know any more *hangs*: it keeps
read_committed consumers waiting for ever, and only `abort_transaction`, partition by partition, ends it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.client.admin.base import AdminBase, Outcomes
from tidelog.client.admin.offsets import ActiveProducer
from tidelog.client.backoff import Backoff
from tidelog.client.by_leader import Answer, ask_leaders
from tidelog.client.coordinators import CoordinatorClient, passing
from tidelog.client.errors import ClientError, error_code
from tidelog.client.producer.transaction_calls import end_transaction, init_producer_id
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest, TransactionState
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest
from tidelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

FENCING_TIMEOUT_MS = 1_000  # InitProducerId needs a timeout; the transaction is never begun
ANY_DURATION = -1


@dataclass(slots=True)
class ListedTransaction:
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


@dataclass(slots=True)
class TransactionDescription:
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int  # -1: none is open
    coordinator: int
    partitions: list[TopicPartition]  # those that have not been told yet how the transaction ends


@dataclass(slots=True)
class PartitionTransaction:
    """A transaction that is open on one partition, as the partition's leader sees it."""

    partition: TopicPartition
    producer: ActiveProducer
    transactional_id: str | None = None  # None: no coordinator knows the producer id


class TransactionAdmin(AdminBase):
    transactions: CoordinatorClient

    def list_transactions(
        self,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        *,
        open_for_ms: int = ANY_DURATION,
        pattern: str | None = None,
    ) -> list[ListedTransaction]:
        """List the transactions of the whole cluster, by transactional id. `pattern` is a regular expression (RE2) for
        the id. When a broker dies meanwhile, its transactions move to other coordinators: then all brokers are asked
        again."""
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=open_for_ms,
            transactional_id_pattern=pattern,
        )
        client = self.client
        backoff, deadline_ms = Backoff(client.world.entropy), client.now_ms() + client.retry_timeout_ms
        while True:
            client.refresh()
            try:
                found = [each for broker in sorted(client.metadata.nodes) for each in self._listed_by(broker, request)]
                return sorted(found, key=lambda each: each.transactional_id)
            except ClientError as error:
                if not passing([error.code]) or client.now_ms() >= deadline_ms:
                    raise
            client.pause(backoff.next_ms())

    def _listed_by(self, broker: int, request: ListTransactionsRequest) -> list[ListedTransaction]:
        asked = f"list the transactions of broker {broker}"
        response = self.client.ask_once(request, asked, broker)
        if isinstance(response, ClientError):
            raise response
        self.require(response.error_code, asked)
        if response.unknown_state_filters:
            unknown = f"it knows no state {', '.join(response.unknown_state_filters)}"
            raise ClientError(ErrorCode.INVALID_REQUEST, asked, self.client.name, unknown)
        return [
            ListedTransaction(each.transactional_id, each.producer_id, each.transaction_state, broker)
            for each in response.transaction_states
        ]

    def describe_transactions(self, transactional_ids: Iterable[str]) -> Outcomes[TransactionDescription]:
        names = list(dict.fromkeys(transactional_ids))
        together = self._described_together(names)
        outcomes: Outcomes[TransactionDescription] = {}
        for name in names:
            if name in together:
                outcomes[name] = together[name]
                continue
            asked = f"describe the transaction of {name}"
            request = DescribeTransactionsRequest(transactional_ids=[name])
            try:
                response = self.transactions.ask(
                    name, request, asked, lambda each: each.transaction_states[0].error_code
                )
                found = response.transaction_states[0]
                self.require(found.error_code, asked)
                outcomes[name] = _description(found, self.transactions.find(name))
            except ClientError as error:
                outcomes[name] = error
        return outcomes

    def _described_together(self, names: Sequence[str]) -> Outcomes[TransactionDescription]:
        """Describe with one request the transactions that share a coordinator. Those that this leaves out are for the
        caller to describe one by one."""
        by_node: dict[int, list[str]] = {}
        for name, node_id in self.transactions.find_all(names).items():
            if not isinstance(node_id, ClientError):
                by_node.setdefault(node_id, []).append(name)
        outcomes: Outcomes[TransactionDescription] = {}
        for node_id, listed in by_node.items():
            request = DescribeTransactionsRequest(transactional_ids=listed)
            response = None if len(listed) == 1 else self.client.ask_once(request, "describe transactions", node_id)
            if response is None or isinstance(response, ClientError):
                continue
            for found in response.transaction_states:
                if not passing([found.error_code]):
                    refused = self.refusal(found.error_code, f"describe the transaction of {found.transactional_id}")
                    outcomes[found.transactional_id] = refused or _description(found, node_id)
        return outcomes

    def end_transaction(
        self, transactional_id: str, producer_id: int, producer_epoch: int, *, commit: bool
    ) -> ProducerIdAndEpoch:
        """Commit or abort; return the producer id and epoch with which the next transaction begins. Safe to repeat
        until it has answered, as long as nobody has begun another transaction since."""
        identity = ProducerIdAndEpoch(producer_id, producer_epoch)
        return end_transaction(self.client, self.transactions, transactional_id, identity, commit=commit)

    def fence_producer(self, transactional_id: str) -> ProducerIdAndEpoch:
        """Fence every producer that has used the transactional id so far; what it left open is aborted."""
        return init_producer_id(self.client, self.transactions, transactional_id, FENCING_TIMEOUT_MS)

    def abort_transaction(self, partition: TopicPartition, producer: ActiveProducer) -> None:
        """Abort a hanging transaction on one partition, by a marker that the coordinator does not know of."""
        topic = WritableTxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])
        marker = WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transaction_result=False,
            topics=[topic],
            coordinator_epoch=max(0, producer.coordinator_epoch),
        )
        asked = "abort a transaction on"
        request = WriteTxnMarkersRequest(markers=[marker])
        outcome = ask_leaders(self.client, [partition], asked, lambda _: request, _marked)[partition]
        if isinstance(outcome, ClientError):
            raise outcome

    def hanging_transactions(
        self, producers: Mapping[TopicPartition, Sequence[ActiveProducer]], older_than_ms: int
    ) -> list[PartitionTransaction]:
        """Return the open transactions that no coordinator will ever end, of the producers that partitions have
        (`OffsetAdmin.describe_producers`): last written to before `older_than_ms` (wall clock), which should be further
        back than any transaction may take, and not among those that a coordinator has open on that partition."""
        candidates = [
            PartitionTransaction(topic_partition, each)
            for topic_partition, listed in producers.items()
            for each in listed
            if each.transaction_start_offset >= 0 and each.last_timestamp < older_than_ms
        ]
        if not candidates:
            return []
        ids = list(dict.fromkeys(each.producer.producer_id for each in candidates))
        names = {each.producer_id: each.transactional_id for each in self.list_transactions(producer_ids=ids)}
        known = self.describe_transactions(names.values())
        for each in candidates:
            each.transactional_id = names.get(each.producer.producer_id)
        return [each for each in candidates if not _will_be_ended(each, known)]


def _will_be_ended(candidate: PartitionTransaction, known: Outcomes[TransactionDescription]) -> bool:
    """Tell whether a coordinator will end it: a coordinator lists the partitions that it has yet to send a marker
    to."""
    if candidate.transactional_id is None:
        return False
    found = known[candidate.transactional_id]
    if isinstance(found, ClientError):
        if found.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return False
        raise found
    return candidate.partition in found.partitions


def _description(found: TransactionState, coordinator: int) -> TransactionDescription:
    partitions = [TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions]
    return TransactionDescription(
        found.transactional_id,
        found.transaction_state,
        found.producer_id,
        found.producer_epoch,
        found.transaction_timeout_ms,
        found.transaction_start_time_ms,
        coordinator,
        sorted(partitions),
    )


def _marked(response: WriteTxnMarkersResponse) -> Iterator[Answer[None]]:
    for marker in response.markers:
        for topic in marker.topics:
            for each in topic.partitions:
                topic_partition = TopicPartition(topic.name, each.partition_index)
                yield Answer(topic_partition, error_code(each.error_code), None, None)
