"""RemoveRaftVoter: take a voter out of the metadata quorum."""

from tidelog.protocol.schema import field, int16, int32, request, response, string, uuid


@request(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest:
    cluster_id: string | None = field(nullable="0+")
    voter_id: int32
    voter_directory_id: uuid


@response(api_key=81, versions="0", flexible="0+")
class RemoveRaftVoterResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
