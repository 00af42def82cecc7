"""AddRaftVoter: make a replica a voter of the metadata quorum.

1 may be answered before the change is committed, for a voter that adds itself.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, request, response, string, struct, uint16, uuid


@struct
class Listener:
    name: string
    host: string
    port: uint16


@request(api_key=80, versions="0-1", flexible="0+")
class AddRaftVoterRequest:
    cluster_id: string | None = field(nullable="0+")
    timeout_ms: int32
    voter_id: int32
    voter_directory_id: uuid
    listeners: list[Listener]
    ack_when_committed: boolean = field("1+", default=True)


@response(api_key=80, versions="0-1", flexible="0+")
class AddRaftVoterResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
