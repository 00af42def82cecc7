"""AllocateProducerIds: blocks of producer ids for brokers. None is given out twice, so a block that its broker never
used is lost; there are enough.
"""

from tidelog.controller.results import Result
from tidelog.controller.state import ControllerState
from tidelog.metadata.records.cluster import ProducerIdsRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

BLOCK_SIZE = 1000
PRODUCER_ID_MAX = 2**63 - 1


def allocate_producer_ids(state: ControllerState, request: AllocateProducerIdsRequest) -> Result:
    start = max(state.metadata.next_producer_id, 0)
    try:
        state.check_broker_epoch(request.broker_id, request.broker_epoch)
        if start > PRODUCER_ID_MAX - BLOCK_SIZE:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "all producer ids were given out")
    except ApiError as error:
        refused = AllocateProducerIdsResponse(
            throttle_time_ms=0, error_code=error.code, producer_id_start=0, producer_id_len=0
        )
        return Result([], refused)
    record = ProducerIdsRecord(
        broker_id=request.broker_id, broker_epoch=request.broker_epoch, next_producer_id=start + BLOCK_SIZE
    )
    response = AllocateProducerIdsResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, producer_id_start=start, producer_id_len=BLOCK_SIZE
    )
    return Result([(record, 0)], response)
