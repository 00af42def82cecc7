"""Records of `__transaction_state`: one key and value a transactional id; a null value removes it."""

from tidelog.coordinator.record_framing import RecordTypes, RecordTypesById
from tidelog.protocol.schema import field, int8, int16, int32, int64, record, string, struct


@record("coordinator-key", api_key=0, versions="0", flexible="none")
class TransactionLogKey:
    """A transactional id."""

    transactional_id: string


@struct
class PartitionsSchema:
    topic: string
    partition_ids: list[int32]


@record("coordinator-value", api_key=0, versions="0-1", flexible="1+")
class TransactionLogValue:
    """The transaction as it stands. Version 1 adds the producer ids before and after this one (KIP-890)."""

    producer_id: int64
    previous_producer_id: int64 = field("1+", tag=0, default=-1)
    next_producer_id: int64 = field("1+", tag=1, default=-1)
    producer_epoch: int16
    next_producer_epoch: int16 = field("1+", tag=3, default=-1)
    transaction_timeout_ms: int32
    transaction_status: int8
    transaction_partitions: list[PartitionsSchema] | None = field(nullable="0+")
    transaction_last_update_timestamp_ms: int64
    transaction_start_timestamp_ms: int64
    client_transaction_version: int16 = field("1+", tag=2, default=0)


TRANSACTION_RECORDS: RecordTypesById = {
    0: RecordTypes(TransactionLogKey, TransactionLogValue),
}
