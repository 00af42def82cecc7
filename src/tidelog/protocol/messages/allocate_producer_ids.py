"""AllocateProducerIds: a broker obtains a block of producer ids from the controller."""

from tidelog.protocol.schema import int16, int32, int64, request, response


@request(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest:
    broker_id: int32
    broker_epoch: int64 = -1


@response(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsResponse:
    throttle_time_ms: int32
    error_code: int16
    producer_id_start: int64
    producer_id_len: int32
