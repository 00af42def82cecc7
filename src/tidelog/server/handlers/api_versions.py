"""ApiVersions: what this broker serves. The first thing that a client asks, before it can know any version.

Produce is advertised from version 0 although 0-2 are refused: librdkafka takes a higher minimum as a sign that the
broker is too old for compression, and turns it off without a word.
"""

import re
from typing import TYPE_CHECKING, Final

from tidelog.metadata.feature_levels import KRAFT_VERSION, SERVED
from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from tidelog.protocol.messages.registry import APIS
from tidelog.server.requests.handler import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

# What a client may call itself: it ends up in metric names.
SOFTWARE_PATTERN: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
FIRST_WITH_SOFTWARE: Final = 3
FIRST_WITH_ZERO_LEVELS: Final = 4
# Kafka holds back a latest version that it may still change. This one we offer: by it a client keeps a transaction open
# that a coordinator of its own will decide (KIP-939). Who does not ask for that gets the same as in the version before.
OFFERED_UNSTABLE: Final = frozenset({ApiKey.INIT_PRODUCER_ID})


def handle(broker: "Broker", context: RequestContext, body: ApiVersionsRequest) -> ApiVersionsResponse:
    if context.api_version >= FIRST_WITH_SOFTWARE:
        software = (body.client_software_name, body.client_software_version)
        if not all(map(SOFTWARE_PATTERN.fullmatch, software)):
            return refuse(body, ErrorCode.INVALID_REQUEST, "")
        context.connection.client_software = software
    response = ApiVersionsResponse(
        error_code=ErrorCode.NONE, api_keys=broker.api_versions(context.connection.protocol.served)
    )
    response.supported_features = [
        SupportedFeatureKey(name=name, min_version=levels.min, max_version=levels.max)
        for name, levels in SERVED.items()
        if levels.min > 0 or context.api_version >= FIRST_WITH_ZERO_LEVELS
    ]
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in sorted(finalized_levels(broker).items())
    ]
    response.finalized_features_epoch = max(0, broker.image.provenance.offset)
    return response


def finalized_levels(broker: "Broker") -> dict[str, int]:
    """Those of the image, and kraft.version, which the quorum's own records say. Level 0 is not told, as of any."""
    levels = dict(broker.image.features.items())
    kraft_version = broker.quorum.kraft_version
    if kraft_version > 0:
        levels[KRAFT_VERSION] = kraft_version
    return levels


def advertised_versions(api_keys: list[int]) -> list[ApiVersion]:
    return [_version(api_key) for api_key in sorted(api_keys)]


def _version(api_key: int) -> ApiVersion:
    api = APIS[api_key]
    is_held_back = api.is_latest_unstable and api_key not in OFFERED_UNSTABLE
    lowest = 0 if api_key == ApiKey.PRODUCE else api.lowest_version
    return ApiVersion(api_key=api_key, min_version=lowest, max_version=api.highest_version - is_held_back)


def refuse(_body: ApiVersionsRequest | None, code: ErrorCode, _message: str | None) -> ApiVersionsResponse:
    """Who asked in a version that is not served learns which versions of this very request are."""
    is_version = code is ErrorCode.UNSUPPORTED_VERSION
    return ApiVersionsResponse(error_code=code, api_keys=[_version(ApiKey.API_VERSIONS)] if is_version else [])


API_VERSIONS = Handler(ApiKey.API_VERSIONS, handle, refuse)
