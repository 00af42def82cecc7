"""DescribeConfigs: every setting of a resource, where it comes from, and what stands behind it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from tidelog.config import (
    ConfigEntry,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_topic,
)
from tidelog.controller.topic_names import check_topic_name
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from tidelog.server.requests.handler import Handler, RequestContext, Steps, run_whole
from tidelog.server.requests.response_arrays import Collect, at_once, on_demand

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

_TYPES: Final = {each.value: each for each in ResourceType if each is not ResourceType.UNKNOWN}
_REMEMBERED: Final = 64


def _response(broker: "Broker", body: DescribeConfigsRequest, collect: Collect) -> Steps[DescribeConfigsResponse]:
    for asked in body.resources:
        if asked.resource_type not in _TYPES:  # which refuses the others as well, as Kafka does
            raise ApiError(ErrorCode.INVALID_REQUEST, f"resource type {asked.resource_type} has no settings")
        yield
    return DescribeConfigsResponse(throttle_time_ms=0, results=collect(body.resources, _answers(broker, body)))


def handle(broker: "Broker", _context: RequestContext, body: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return run_whole(_response(broker, body, at_once))


def steps(broker: "Broker", _context: RequestContext, body: DescribeConfigsRequest) -> Steps[DescribeConfigsResponse]:
    return (yield from _response(broker, body, on_demand))


def _answers(broker: "Broker", body: DescribeConfigsRequest) -> Iterator[DescribeConfigsResult]:
    """A resource that is named again soon is not described again: a hundred thousand times the same one took half a
    minute of the processor."""
    known: dict[tuple[object, ...], DescribeConfigsResult] = {}
    for asked in body.resources:
        key = (asked.resource_type, asked.resource_name, tuple(asked.configuration_keys or ()))
        answer = known.get(key)
        if answer is None:
            if len(known) >= _REMEMBERED:
                del known[next(iter(known))]
            answer = known[key] = _answer(broker, body, asked)
        yield answer


def _answer(broker: "Broker", body: DescribeConfigsRequest, asked: DescribeConfigsResource) -> DescribeConfigsResult:
    try:
        entries = _describe(broker, asked)
    except ApiError as error:
        return _result(asked, error.code, error.message, [])
    shown = [_shown(entry, body) for entry in entries]
    return _result(asked, ErrorCode.NONE, None, shown)


def _describe(broker: "Broker", asked: DescribeConfigsResource) -> list[ConfigEntry]:
    kind = _TYPES[asked.resource_type]
    names: Iterable[str] | None = asked.configuration_keys or None
    overrides = broker.image.configs.get(ConfigResource(kind, asked.resource_name)) or {}
    match kind:
        case ResourceType.TOPIC:
            check_topic_name(asked.resource_name)
            if asked.resource_name not in broker.image.topics.by_name:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return describe_topic(broker.config, overrides, names)
        case ResourceType.BROKER:
            return _describe_broker(broker, asked.resource_name, names)
        case ResourceType.GROUP:
            if not asked.resource_name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "a group's settings are asked for by its name")
            return describe_group(broker.config, overrides, names)
        case ResourceType.CLIENT_METRICS:
            if not asked.resource_name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "client metrics are asked for by the subscription's name")
            return describe_client_metrics(broker.config, overrides, names)
        case _:
            text = "log levels are not settings of this broker; its logs are Python's"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)


def _describe_broker(broker: "Broker", name: str, names: Iterable[str] | None) -> list[ConfigEntry]:
    if not name:
        return describe_cluster(broker.config, names)
    if name != str(broker.node_id):
        text = f"this is broker {broker.node_id}: ask broker {name} itself for its settings"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)
    return describe_broker(broker.config, names)


def _shown(entry: ConfigEntry, body: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if body.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source.value,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source.value) for each in synonyms
        ],
        config_type=entry.type.value,
        documentation=entry.documentation if body.include_documentation else None,
    )


def _result(
    asked: DescribeConfigsResource, code: ErrorCode, message: str | None, configs: list[DescribeConfigsResourceResult]
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code,
        error_message=message,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
        configs=configs,
    )


def refuse(body: DescribeConfigsRequest, code: ErrorCode, message: str | None) -> DescribeConfigsResponse:
    results = [_result(each, code, message, []) for each in body.resources]
    return DescribeConfigsResponse(throttle_time_ms=0, results=results)


DESCRIBE_CONFIGS = Handler(ApiKey.DESCRIBE_CONFIGS, handle, refuse, steps=steps)
