"""BrokerHeartbeat: a broker stays in the cluster, or asks to be unfenced or to shut down.

1 reports log directories that failed, 2 those that are cordoned.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, uuid


@request(api_key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest:
    broker_id: int32
    broker_epoch: int64 = -1
    current_metadata_offset: int64
    want_fence: boolean
    want_shut_down: boolean
    offline_log_dirs: list[uuid] = field("1+", tag=0, default_factory=list)
    cordoned_log_dirs: list[uuid] | None = field("2+", nullable="2+", tag=1, default=None)


@response(api_key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse:
    throttle_time_ms: int32
    error_code: int16
    is_caught_up: boolean = False
    is_fenced: boolean = True
    should_shut_down: boolean
