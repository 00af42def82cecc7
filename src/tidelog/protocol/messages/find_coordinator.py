"""FindCoordinator: which broker coordinates a group, a transactional id or a share partition.

4 looks up several keys at once; until then there is one key and one flat answer. 6 admits share partitions.
"""

from tidelog.protocol.schema import field, int8, int16, int32, request, response, string, struct


@request(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest:
    key: string = field("0-3", default="")
    key_type: int8 = field("1+", default=0)
    coordinator_keys: list[string] = field("4+", default_factory=list)


@struct
class Coordinator:
    key: string
    node_id: int32
    host: string
    port: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")


@response(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse:
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16 = field("0-3", default=0)
    error_message: string | None = field("1-3", nullable="1-3", default="", ignorable=True)
    node_id: int32 = field("0-3", default=0)
    host: string = field("0-3", default="")
    port: int32 = field("0-3", default=0)
    coordinators: list[Coordinator] = field("4+", default_factory=list)
