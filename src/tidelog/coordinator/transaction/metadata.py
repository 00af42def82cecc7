"""A transactional id as it stands: its producer and its transaction. Each state is one record of `__transaction_state`.

Never changed in place: a transition (`transitions.py`) makes a new one, the record of which `replay` puts in its place.

The client's id and epoch before the last change are in no record: they live in memory, serve to recognise the
retry of an init, and are lost with the coordinator (the retry is then told that it is fenced). So it is in Kafka.
"""

from dataclasses import dataclass, field
from typing import Final

from tidelog.coordinator.requests import KeyValue
from tidelog.coordinator.transaction.records import PartitionsSchema, TransactionLogKey, TransactionLogValue
from tidelog.coordinator.transaction.states import AT_REST, TransactionState
from tidelog.model.decisions import Record
from tidelog.model.ids import TopicPartition

NO_ID: Final = -1
NO_EPOCH: Final = -1
EPOCH_MAX: Final = 32767  # no client ever gets it: it is left for fencing
EPOCH_PER_TRANSACTION: Final = 2  # the transaction version from which each end raises the epoch (KIP-890)
NO_TIMEOUT_MS: Final = 2**31 - 1  # the transaction takes part in a two-phase commit (KIP-939)

Partitions = dict[TopicPartition, None]  # a set that remembers its order
Pair = tuple[int, int]  # producer id and epoch
NO_PRODUCER: Final[Pair] = (NO_ID, NO_EPOCH)


def is_exhausted(epoch: int) -> bool:
    return epoch >= EPOCH_MAX - 1


@dataclass(slots=True)
class TransactionMetadata:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    last_update_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: Partitions = field(default_factory=dict)
    start_ms: int = -1
    # The producer id of the record before this one. Differs from `producer_id` right after that was replaced.
    previous_producer_id: int = NO_ID
    # While prepared: the producer id once it is complete, if that is another one (epochs ran out). While
    # ongoing: who may end it, if not who began it (KIP-939); only then there is an epoch, too.
    next_producer_id: int = NO_ID
    next_producer_epoch: int = NO_EPOCH
    client_transaction_version: int = 0
    last_producer: Pair = NO_PRODUCER  # volatile

    @property
    def is_kept(self) -> bool:
        """Tell whether the transaction has outlived its producer: the next one can end it and nothing else."""
        return self.state is TransactionState.ONGOING and self.next_producer_epoch != NO_EPOCH

    @property
    def client(self) -> Pair:
        """The id and epoch that the client initialised last was told, as long as the transaction is not prepared."""
        if self.is_kept:
            return self.next_producer_id, self.next_producer_epoch
        return self.producer_id, self.producer_epoch

    @property
    def is_two_phase(self) -> bool:
        return self.timeout_ms == NO_TIMEOUT_MS


def record_of(metadata: TransactionMetadata, transaction_version: int) -> Record:
    """Return the record of a state: in version 0 where the cluster says so, unless that would lose what decides about
    the transaction."""
    is_open_v2 = metadata.state not in AT_REST and metadata.client_transaction_version >= EPOCH_PER_TRANSACTION
    version = 1 if transaction_version >= 1 or is_open_v2 or metadata.next_producer_id != NO_ID else 0
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=int(metadata.state),
        transaction_partitions=None if metadata.state is TransactionState.EMPTY else _by_topic(metadata.partitions),
        transaction_last_update_timestamp_ms=metadata.last_update_ms,
        transaction_start_timestamp_ms=metadata.start_ms,
    )
    if version:
        value.previous_producer_id = metadata.previous_producer_id
        value.next_producer_id = metadata.next_producer_id
        value.next_producer_epoch = metadata.next_producer_epoch
        value.client_transaction_version = metadata.client_transaction_version
    return KeyValue(TransactionLogKey(transactional_id=metadata.transactional_id), value), version


def tombstone_of(transactional_id: str) -> Record:
    return KeyValue(TransactionLogKey(transactional_id=transactional_id), None), 0


def metadata_of(transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        last_update_ms=value.transaction_last_update_timestamp_ms,
        state=TransactionState(value.transaction_status),
        partitions={
            TopicPartition(topic.topic, partition): None
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        },
        start_ms=value.transaction_start_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        next_producer_epoch=value.next_producer_epoch,
        client_transaction_version=value.client_transaction_version,
    )


def _by_topic(partitions: Partitions) -> list[PartitionsSchema]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]


# Everything in a record but its partitions and the id, tags and framing included, with room to spare: what fits as
# ONGOING must fit as PREPARE_*, too.
_FIXED_BYTES: Final = 256


def record_bytes_at_most(transactional_id: str, partitions: Partitions) -> int:
    topics = {topic: None for topic, _partition in partitions}
    names = sum(3 * len(topic) + 16 for topic in topics)  # three bytes of UTF-8 for a UTF-16 unit at most
    return _FIXED_BYTES + 3 * len(transactional_id) + names + 4 * len(partitions)
