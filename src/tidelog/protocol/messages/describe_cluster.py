"""DescribeCluster: the cluster's id, controller and brokers.

1 asks for brokers or controllers, 2 may include fenced brokers.
"""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, request, response, string, struct


@request(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest:
    include_cluster_authorized_operations: boolean
    endpoint_type: int8 = field("1+", default=1)
    include_fenced_brokers: boolean = field("2+", default=False)


@struct
class DescribeClusterBroker:
    broker_id: int32
    host: string
    port: int32
    rack: string | None = field(nullable="0+", default=None)
    is_fenced: boolean = field("2+", default=False)


@response(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)
    endpoint_type: int8 = field("1+", default=1)
    cluster_id: string
    controller_id: int32 = -1
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: int32 = -2147483648
