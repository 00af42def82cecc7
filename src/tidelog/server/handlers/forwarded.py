"""APIs that the controller answers: the broker hands them on and passes the answer back when it is committed.

What every one of them needs here is its way to say no to the whole request: the controller has gone, or is not there
yet. Clients retry NOT_CONTROLLER.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidelog.controller.results import ControllerRequest
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import alter_configs, incremental_alter_configs
from tidelog.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from tidelog.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from tidelog.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tidelog.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from tidelog.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse
from tidelog.server.handling import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

Refuse = Callable[[Any, ErrorCode, str | None], Any]


def forward(api_key: ApiKey, refuse: Refuse) -> Handler:
    def handle(broker: "Broker", context: RequestContext, body: Any) -> None:
        def reply(answer: Any) -> None:
            if isinstance(answer, ApiError):
                answer = refuse(body, answer.code, answer.message)
            elif isinstance(answer, ErrorCode):
                answer = refuse(body, answer, None)
            context.respond(answer)

        broker.ask_controller(ControllerRequest(body, context.api_version), reply)

    return Handler(api_key, handle, refuse)


def _refuse_create_topics(body: CreateTopicsRequest, code: ErrorCode, message: str | None) -> CreateTopicsResponse:
    results = [CreatableTopicResult(name=topic.name, error_code=code, error_message=message) for topic in body.topics]
    return CreateTopicsResponse(throttle_time_ms=0, topics=results)


def _refuse_delete_topics(body: DeleteTopicsRequest, code: ErrorCode, message: str | None) -> DeleteTopicsResponse:
    named = [DeletableTopicResult(name=name, error_code=code, error_message=message) for name in body.topic_names]
    by_state = [
        DeletableTopicResult(name=each.name, topic_id=each.topic_id, error_code=code, error_message=message)
        for each in body.topics
    ]
    return DeleteTopicsResponse(throttle_time_ms=0, responses=named + by_state)


def _refuse_create_partitions(
    body: CreatePartitionsRequest, code: ErrorCode, message: str | None
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        throttle_time_ms=0,
        results=[
            CreatePartitionsTopicResult(name=each.name, error_code=code, error_message=message) for each in body.topics
        ],
    )


def _refuse_alter_configs(
    body: alter_configs.AlterConfigsRequest, code: ErrorCode, message: str | None
) -> alter_configs.AlterConfigsResponse:
    refused = [
        alter_configs.AlterConfigsResourceResponse(
            error_code=code, error_message=message, resource_type=each.resource_type, resource_name=each.resource_name
        )
        for each in body.resources
    ]
    return alter_configs.AlterConfigsResponse(throttle_time_ms=0, responses=refused)


def _refuse_incremental(
    body: incremental_alter_configs.IncrementalAlterConfigsRequest, code: ErrorCode, message: str | None
) -> incremental_alter_configs.IncrementalAlterConfigsResponse:
    refused = [
        incremental_alter_configs.AlterConfigsResourceResponse(
            error_code=code, error_message=message, resource_type=each.resource_type, resource_name=each.resource_name
        )
        for each in body.resources
    ]
    return incremental_alter_configs.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=refused)


def _refuse_update_features(
    _body: UpdateFeaturesRequest, code: ErrorCode, message: str | None
) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(throttle_time_ms=0, error_code=code, error_message=message)


def _refuse_unregister(
    _body: UnregisterBrokerRequest, code: ErrorCode, message: str | None
) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(throttle_time_ms=0, error_code=code, error_message=message)


FORWARDED = (
    forward(ApiKey.CREATE_TOPICS, _refuse_create_topics),
    forward(ApiKey.DELETE_TOPICS, _refuse_delete_topics),
    forward(ApiKey.CREATE_PARTITIONS, _refuse_create_partitions),
    forward(ApiKey.ALTER_CONFIGS, _refuse_alter_configs),
    forward(ApiKey.INCREMENTAL_ALTER_CONFIGS, _refuse_incremental),
    forward(ApiKey.UPDATE_FEATURES, _refuse_update_features),
    forward(ApiKey.UNREGISTER_BROKER, _refuse_unregister),
)
