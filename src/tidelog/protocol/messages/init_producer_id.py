"""InitProducerId: obtain a producer id and epoch, fencing older producers of the transactional id.

3 resumes with the id and epoch that the producer already has; 6 (unstable) prepares two-phase commit.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string


@request(api_key=22, versions="0-6", flexible="2+", latest_version_unstable=True)
class InitProducerIdRequest:
    transactional_id: string | None = field(nullable="0+")
    transaction_timeout_ms: int32
    producer_id: int64 = field("3+", default=-1)
    producer_epoch: int16 = field("3+", default=-1)
    enable_2pc: boolean = field("6+", default=False)
    keep_prepared_txn: boolean = field("6+", default=False)


@response(api_key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse:
    throttle_time_ms: int32
    error_code: int16
    producer_id: int64 = -1
    producer_epoch: int16
    ongoing_txn_producer_id: int64 = field("6+", default=-1)
    ongoing_txn_producer_epoch: int16 = field("6+", default=-1)
