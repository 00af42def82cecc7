"""UpdateFeatures: raise or lower finalized feature levels.

1 can validate only and names how a downgrade is meant; 2 answers for all features at once.
"""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, request, response, string, struct


@struct
class FeatureUpdateKey:
    feature: string
    max_version_level: int16
    allow_downgrade: boolean = field("0", default=False)
    upgrade_type: int8 = field("1+", default=1)


@request(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest:
    timeout_ms: int32 = 60000
    feature_updates: list[FeatureUpdateKey]
    validate_only: boolean = field("1+", default=False)


@struct
class UpdatableFeatureResult:
    feature: string
    error_code: int16
    error_message: string | None = field(nullable="0+")


@response(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
    results: list[UpdatableFeatureResult] = field("0-1", default_factory=list, ignorable=True)
