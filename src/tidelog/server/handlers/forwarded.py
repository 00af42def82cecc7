"""APIs that the controller answers: the broker hands them on and passes the answer back when it is committed.

What every one of them needs here is its way to say no to the whole request: the controller has gone, or is not there
yet. Clients retry NOT_CONTROLLER.
"""

from collections.abc import Callable, Iterator
from functools import partial
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
from tidelog.server.hosting.awaited_logs import AwaitedLogs
from tidelog.server.requests.audit import (
    Changed,
    configs_changed,
    telling,
    topics_created,
    topics_deleted,
    topics_grown,
)
from tidelog.server.requests.handler import Handler, RequestContext, SlicedContext, Steps, run_whole
from tidelog.server.requests.refusals import refuse_in_slices

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

Refuse = Callable[[Any, ErrorCode, str | None], Any]


# Topics with new partitions, by an answer of the controller; None for each that has none.
Created = Callable[[Any], Iterator[str | None]]


def forward(
    api_key: ApiKey, refuse: Refuse, created: Created | None = None, audited: tuple[str, Changed] | None = None
) -> Handler:
    """`audited`: what the request does, in words, and to what, for the line in the log."""

    def handle(broker: "Broker", context: RequestContext, body: Any) -> None:
        def reply(answer: Any) -> None:
            steps = answered(broker, context, body, answer)
            if isinstance(context, SlicedContext):  # it has many elements, and so has the answer
                broker.slices.go_on(context, body, steps, is_owed=audited is not None)
            else:
                run_whole(steps)

        broker.ask_controller(ControllerRequest(body, context.api_version), reply)

    def answered(broker: "Broker", context: RequestContext, body: Any, answer: Any) -> Steps[None]:
        if isinstance(answer, ErrorCode):
            answer = ApiError(answer)
        if isinstance(answer, ApiError):
            answer = yield from refuse_in_slices(handler, body, answer)
        if audited is not None and not getattr(body, "validate_only", False):
            yield from telling(context, audited[0], audited[1](body, answer))
        if created is None or body.validate_only:
            context.respond(answer)
            return
        names: list[str] = []
        for name in created(answer):
            if name is not None:
                names.append(name)
            yield
        connection = context.connection
        broker.hosted.wait_for(
            AwaitedLogs(broker, names, partial(context.respond, answer), lambda: connection.is_closed)
        )

    handler = Handler(api_key, handle, refuse)
    return handler


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


def _created_topics(answer: CreateTopicsResponse) -> Iterator[str | None]:
    return (each.name if each.error_code == ErrorCode.NONE else None for each in answer.topics)


def _grown_topics(answer: CreatePartitionsResponse) -> Iterator[str | None]:
    return (each.name if each.error_code == ErrorCode.NONE else None for each in answer.results)


CONFIGS_CHANGED = ("changed the settings of", configs_changed)
CREATE_TOPICS = forward(
    ApiKey.CREATE_TOPICS, _refuse_create_topics, _created_topics, ("created the topics", topics_created)
)
DELETE_TOPICS = forward(ApiKey.DELETE_TOPICS, _refuse_delete_topics, audited=("deleted the topics", topics_deleted))
CREATE_PARTITIONS = forward(
    ApiKey.CREATE_PARTITIONS, _refuse_create_partitions, _grown_topics, ("added partitions to", topics_grown)
)
ALTER_CONFIGS = forward(ApiKey.ALTER_CONFIGS, _refuse_alter_configs, audited=CONFIGS_CHANGED)
INCREMENTAL_ALTER_CONFIGS = forward(ApiKey.INCREMENTAL_ALTER_CONFIGS, _refuse_incremental, audited=CONFIGS_CHANGED)
UPDATE_FEATURES = forward(ApiKey.UPDATE_FEATURES, _refuse_update_features)
UNREGISTER_BROKER = forward(ApiKey.UNREGISTER_BROKER, _refuse_unregister)
