"""Transaction coordinators, as `coordinators` runs them: one for each partition of `__transaction_state`."""

from typing import TYPE_CHECKING, Final

from tidelog.config.settings import transactions
from tidelog.coordinator.transaction.coordinator import TransactionCoordinator
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.metadata.changes import Changes
from tidelog.metadata.feature_levels import TRANSACTION_VERSION
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest
from tidelog.records.compression import CompressionType
from tidelog.server.cluster.internal_topics import TRANSACTION_STATE
from tidelog.server.coordination.kind import CoordinatorKind
from tidelog.server.hosting.partition import Partition

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker


def _make(broker: "Broker", partition: Partition, record_bytes_max: int) -> TransactionCoordinator:
    return TransactionCoordinator(
        config=broker.config,
        partition=partition.topic_partition.partition,
        coordinator_epoch=partition.leader_epoch,
        allocate_producer_id=broker.producer_ids.take,
        transaction_version=lambda: broker.image.features.get(TRANSACTION_VERSION, 0),
        offsets_partition_for=broker.coordinators.groups.partition_for,
        max_record_bytes=record_bytes_max,
    )


def _image_changed(machine: TransactionCoordinator, now_ms: int, broker: "Broker", changes: Changes) -> None:
    machine.image_changed(now_ms, broker.image, changes)


def _reconfigured(machine: TransactionCoordinator, broker: "Broker", record_bytes_max: int) -> None:
    machine.shard.config = broker.config
    machine.shard.max_record_bytes = record_bytes_max


def _partitions_wanted(broker: "Broker") -> int:
    return broker.config.get(transactions.TRANSACTION_STATE_LOG_NUM_PARTITIONS)


def _compression(_broker: "Broker") -> CompressionType:
    return CompressionType.NONE


TRANSACTIONS: Final = CoordinatorKind(
    topic=TRANSACTION_STATE,
    types=TRANSACTION_RECORDS,
    partitions_wanted=_partitions_wanted,
    compression=_compression,
    make=_make,
    activate=TransactionCoordinator.activate,
    image_changed=_image_changed,
    reconfigured=_reconfigured,
    reads=(DescribeTransactionsRequest, ListTransactionsRequest),
)
