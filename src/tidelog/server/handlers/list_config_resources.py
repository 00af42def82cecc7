"""ListConfigResources: what has, or could have, settings of its own.

Topics and brokers are listed whether they have any or not; groups and client metrics where they do.
"""

from typing import TYPE_CHECKING, Final

from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tidelog.server.requests.handler import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FIRST_WITH_TYPES: Final = 1
SUPPORTED: Final = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
    ResourceType.GROUP,
)


def handle(broker: "Broker", context: RequestContext, body: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    wanted = [int(each) for each in SUPPORTED] if not body.resource_types else body.resource_types
    if context.api_version < FIRST_WITH_TYPES:
        wanted = [ResourceType.CLIENT_METRICS]
    wanted = list(dict.fromkeys(wanted))  # the rest looks through it for every kind
    if any(each not in SUPPORTED for each in wanted):
        return refuse(body, ErrorCode.UNSUPPORTED_VERSION, None)
    found = [
        ConfigResource(resource_name=name, resource_type=int(kind))
        for kind in SUPPORTED
        if kind in wanted
        for name in _names(broker, kind)
    ]
    return ListConfigResourcesResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, config_resources=found)


def _names(broker: "Broker", kind: ResourceType) -> list[str]:
    match kind:
        case ResourceType.TOPIC:
            return sorted(broker.image.topics.by_name)
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return [str(node_id) for node_id in sorted(broker.image.brokers)]
        case _:
            return sorted(resource.name for resource in broker.image.configs if resource.type is kind)


def refuse(_body: ListConfigResourcesRequest, code: ErrorCode, _message: str | None) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(throttle_time_ms=0, error_code=code, config_resources=[])


LIST_CONFIG_RESOURCES = Handler(ApiKey.LIST_CONFIG_RESOURCES, handle, refuse)
