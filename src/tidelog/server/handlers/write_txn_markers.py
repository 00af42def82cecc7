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
from tidelog.server.handling import Handler, RequestContext
from tidelog.server.transaction_markers import MarkerWrite, Written

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

_Outcomes = dict[TopicPartition, ErrorCode]


def handle(broker: "Broker", context: RequestContext, body: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse | None:
    if not body.markers:
        return WriteTxnMarkersResponse(markers=[])
    outcomes: dict[int, _Outcomes] = {}  # by producer id; several markers of one are answered together
    left = len(body.markers)

    def written_of(producer_id: int) -> Written:
        def written(found: _Outcomes) -> None:
            nonlocal left
            outcomes.setdefault(producer_id, {}).update(found)
            left -= 1
            if not left:
                context.respond(WriteTxnMarkersResponse(markers=[_result(*each) for each in outcomes.items()]))

        return written

    for each in body.markers:
        marker = TransactionMarker(
            each.producer_id,
            each.producer_epoch,
            each.transaction_result,
            each.coordinator_epoch,
            each.transaction_version,
        )
        MarkerWrite(broker, marker, written_of(each.producer_id)).begin(_places(each))
    return None


def _places(marker: WritableTxnMarker) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]


def _result(producer_id: int, outcomes: _Outcomes) -> WritableTxnMarkerResult:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for place, code in outcomes.items():
        result = WritableTxnMarkerPartitionResult(partition_index=place.partition, error_code=code)
        topics.setdefault(place.topic, []).append(result)
    return WritableTxnMarkerResult(
        producer_id=producer_id,
        topics=[WritableTxnMarkerTopicResult(name=name, partitions=results) for name, results in topics.items()],
    )


def refuse(body: WriteTxnMarkersRequest, code: ErrorCode, _message: str | None) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[_result(each.producer_id, dict.fromkeys(_places(each), code)) for each in body.markers]
    )


WRITE_TXN_MARKERS = Handler(ApiKey.WRITE_TXN_MARKERS, handle, refuse)
