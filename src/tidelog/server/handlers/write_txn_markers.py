"""WriteTxnMarkers: the end of transactions, into the partitions that this broker leads.

From the transaction coordinators of other brokers, and from an operator who aborts a transaction that hangs: that one
asks the partition's leader itself, since no coordinator knows of the transaction any more.
"""

from typing import TYPE_CHECKING

from tidelog.coordinator.requests import TransactionMarker
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole
from tidelog.server.transactions.markers import PLACES_AT_ONCE, MarkerWrite, Written

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

_Outcomes = dict[TopicPartition, ErrorCode]


def steps(
    broker: "Broker", context: RequestContext, body: WriteTxnMarkersRequest
) -> Steps[WriteTxnMarkersResponse | None]:
    if not body.markers:
        return WriteTxnMarkersResponse(markers=[])
    outcomes: dict[int, _Outcomes] = {}  # by producer id; several markers of one are answered together
    parts: list[tuple[WritableTxnMarker, list[TopicPartition]]] = []
    for each in body.markers:
        topic_partitions = list(dict.fromkeys(_topic_partitions(each)))
        outcomes.setdefault(each.producer_id, {}).update(
            dict.fromkeys(topic_partitions, ErrorCode.NONE)
        )  # in this order
        parts += [
            (each, topic_partitions[at : at + PLACES_AT_ONCE])
            for at in range(0, max(1, len(topic_partitions)), PLACES_AT_ONCE)
        ]
        yield
    left = len(parts)

    def written_of(producer_id: int) -> Written:
        def written(found: _Outcomes) -> None:
            nonlocal left
            outcomes[producer_id].update(found)
            left -= 1
            if not left:
                context.respond(WriteTxnMarkersResponse(markers=[_result(*each) for each in outcomes.items()]))

        return written

    for each, topic_partitions in parts:
        marker = TransactionMarker(
            each.producer_id,
            each.producer_epoch,
            each.transaction_result,
            each.coordinator_epoch,
            each.transaction_version,
        )
        MarkerWrite(broker, marker, written_of(each.producer_id)).begin(topic_partitions)
        yield
    return None


def _topic_partitions(marker: WritableTxnMarker) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]


def _result(producer_id: int, outcomes: _Outcomes) -> WritableTxnMarkerResult:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for topic_partition, code in outcomes.items():
        result = WritableTxnMarkerPartitionResult(partition_index=topic_partition.partition, error_code=code)
        topics.setdefault(topic_partition.topic, []).append(result)
    return WritableTxnMarkerResult(
        producer_id=producer_id,
        topics=[WritableTxnMarkerTopicResult(name=name, partitions=results) for name, results in topics.items()],
    )


def refuse(body: WriteTxnMarkersRequest, code: ErrorCode, _message: str | None) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[_result(each.producer_id, dict.fromkeys(_topic_partitions(each), code)) for each in body.markers]
    )


WRITE_TXN_MARKERS = Handler(ApiKey.WRITE_TXN_MARKERS, whole(steps), refuse, steps=steps)
