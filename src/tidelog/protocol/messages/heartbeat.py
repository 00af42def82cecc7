"""Heartbeat: a member of a classic group is alive and learns of rebalances. 3 knows static members."""

from tidelog.protocol.schema import field, int16, int32, request, response, string


@request(api_key=12, versions="0-4", flexible="4+")
class HeartbeatRequest:
    group_id: string
    generation_id: int32
    member_id: string
    group_instance_id: string | None = field("3+", nullable="3+", default=None)


@response(api_key=12, versions="0-4", flexible="4+")
class HeartbeatResponse:
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16
