"""UpdateRaftVoter: a voter of the metadata quorum changed its endpoints or the KRaft versions it supports."""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct, uint16, uuid


@struct
class Listener:
    name: string
    host: string
    port: uint16


@struct
class KRaftVersionFeature:
    min_supported_version: int16
    max_supported_version: int16


@request(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest:
    cluster_id: string | None = field(nullable="0+")
    current_leader_epoch: int32
    voter_id: int32
    voter_directory_id: uuid
    listeners: list[Listener]
    kraft_version_feature: KRaftVersionFeature


@struct
class CurrentLeader:
    leader_id: int32 = -1
    leader_epoch: int32 = -1
    host: string = ""
    port: int32 = 0


@response(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse:
    throttle_time_ms: int32
    error_code: int16
    current_leader: CurrentLeader = field(tag=0, default_factory=CurrentLeader)
