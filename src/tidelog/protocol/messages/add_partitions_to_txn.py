"""AddPartitionsToTxn: make partitions part of a transaction.

Up to 3 clients add to their one transaction, with the flat fields. From 4 brokers verify or add for several
transactions at once.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string, struct


@struct
class AddPartitionsToTxnTopic:
    name: string
    partitions: list[int32]


@struct
class AddPartitionsToTxnTransaction:
    transactional_id: string
    producer_id: int64
    producer_epoch: int16
    verify_only: boolean = False
    topics: list[AddPartitionsToTxnTopic]


@request(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest:
    transactions: list[AddPartitionsToTxnTransaction] = field("4+", default_factory=list)
    v3_and_below_transactional_id: string = field("0-3", default="")
    v3_and_below_producer_id: int64 = field("0-3", default=0)
    v3_and_below_producer_epoch: int16 = field("0-3", default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field("0-3", default_factory=list)


@struct
class AddPartitionsToTxnPartitionResult:
    partition_index: int32
    partition_error_code: int16


@struct
class AddPartitionsToTxnTopicResult:
    name: string
    results_by_partition: list[AddPartitionsToTxnPartitionResult]


@struct
class AddPartitionsToTxnResult:
    transactional_id: string
    topic_results: list[AddPartitionsToTxnTopicResult]


@response(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse:
    throttle_time_ms: int32
    error_code: int16 = field("4+", default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = field("4+", default_factory=list)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field("0-3", default_factory=list)
