"""What passes between the transaction coordinator's machine and the server, apart from clients' requests.

EndTxn -> PREPARE_* record committed -> SendMarkers -> markers in every partition's log -> MarkersWritten -> COMPLETE_*
"""

from typing import NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass


class SendMarkers(NamedTuple):
    """An effect: the outcome of this transaction is decided and committed; have a marker written to each partition.

    Until MarkersWritten has come for all of them the transaction stays prepared. Sent again after a reload of the
    coordinator, so partitions may get a marker twice."""

    transactional_id: str
    producer_id: int
    producer_epoch: int  # the markers'
    committed: bool
    coordinator_epoch: int
    transaction_version: int  # of the transaction: decides which epoch partitions accept in the marker
    partitions: tuple[TopicPartition, ...]  # never empty: without partitions a transaction completes as it is decided
    # Tells this decision from others of the same coordinator epoch: under the old protocol transactions share an epoch.
    decision: int = 0


@dataclass(slots=True)
class MarkersWritten:
    """The message of a CoordinatorRequest: what became of the markers of one SendMarkers, by final outcome.

    The server tries again whatever may pass (not leader, loading, not enough replicas, time out) and reports the rest:
    NONE, also for a partition that no longer exists, or an error that no repetition will change. Partitions may be
    reported one by one or together."""

    transactional_id: str
    producer_id: int
    producer_epoch: int  # as in SendMarkers
    coordinator_epoch: int
    outcomes: dict[TopicPartition, ErrorCode]
    decision: int | None = None  # as in SendMarkers; without it each SendMarkers must be reported only once
