"""ApiVersions: what this node speaks, asked before anything else is known.

Its response header is version 0 whatever the body is, and a version that the node does not know is answered with a
version 0 body. 3 names the client software and lists features; 4 may list a feature whose lowest level is 0.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, int64, request, response, string, struct


@request(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest:
    client_software_name: string = field("3+", default="", ignorable=True)
    client_software_version: string = field("3+", default="", ignorable=True)


@struct
class ApiVersion:
    api_key: int16
    min_version: int16
    max_version: int16


@struct
class SupportedFeatureKey:
    name: string
    min_version: int16
    max_version: int16


@struct
class FinalizedFeatureKey:
    name: string
    max_version_level: int16
    min_version_level: int16


@response(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse:
    error_code: int16
    api_keys: list[ApiVersion]
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = field("3+", tag=0, default_factory=list, ignorable=True)
    finalized_features_epoch: int64 = field("3+", tag=1, default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field("3+", tag=2, default_factory=list, ignorable=True)
    zk_migration_ready: boolean = field("3+", tag=3, default=False, ignorable=True)
