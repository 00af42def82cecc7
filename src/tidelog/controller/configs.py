"""IncrementalAlterConfigs and the older AlterConfigs. A resource is altered as a whole or not at all, each by itself.

AlterConfigs replaces everything a resource has: what it does not name is taken back.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tidelog.config import Alteration, AlterOp, ConfigError
from tidelog.controller.config_records import change_records
from tidelog.controller.config_resources import (
    Changes,
    alter,
    check_changes,
    check_exists,
    check_settings_count,
    find_resource,
)
from tidelog.controller.results import RECORDS_MAX, SLICE, Outcome, Record, Result, Slices, Steps
from tidelog.controller.state import ControllerState
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages import alter_configs as whole
from tidelog.protocol.messages import incremental_alter_configs as incremental

# Resources between two yields: about a millisecond of work.
_SLICE = 10

Asked = whole.AlterConfigsResource | incremental.AlterConfigsResource
R = TypeVar("R", bound=Asked)
T = TypeVar("T")


def incremental_alter_configs(
    state: ControllerState, request: incremental.IncrementalAlterConfigsRequest, *, is_forwarded: bool
) -> Steps:
    def changes(resource: ConfigResource, asked: incremental.AlterConfigsResource) -> Changes:
        return _incremental_changes(state, resource, asked)

    outcomes = yield from _alter_all(state, request.resources, changes, is_forwarded)
    rows = yield from _rows(incremental.AlterConfigsResourceResponse, request.resources, outcomes)
    response = incremental.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=rows)
    return Result([] if request.validate_only else _all_records(outcomes), response)


def replace_configs(state: ControllerState, request: whole.AlterConfigsRequest, *, is_forwarded: bool) -> Steps:
    def changes(resource: ConfigResource, asked: whole.AlterConfigsResource) -> Changes:
        return _whole_changes(state, resource, asked)

    outcomes = yield from _alter_all(state, request.resources, changes, is_forwarded)
    rows = yield from _rows(whole.AlterConfigsResourceResponse, request.resources, outcomes)
    response = whole.AlterConfigsResponse(throttle_time_ms=0, responses=rows)
    return Result([] if request.validate_only else _all_records(outcomes), response)


def _incremental_changes(
    state: ControllerState, resource: ConfigResource, asked: incremental.AlterConfigsResource
) -> Changes:
    alterations = [Alteration(each.name, _operation(each.config_operation), each.value) for each in asked.configs]
    before = state.overrides(resource)
    after = alter(state, resource, before, alterations)
    return _worth_writing(resource, before, {each.name: after.get(each.name) for each in asked.configs})


def _operation(number: int) -> AlterOp:
    try:
        return AlterOp(number)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{number} is no operation on a setting") from None


def _whole_changes(state: ControllerState, resource: ConfigResource, asked: whole.AlterConfigsResource) -> Changes:
    before = state.overrides(resource)
    after = alter(state, resource, {}, [Alteration(each.name, AlterOp.SET, each.value) for each in asked.configs])
    named = _worth_writing(resource, before, {each.name: after.get(each.name) for each in asked.configs})
    return {**named, **{name: None for name in before if name not in after}}


def _worth_writing(resource: ConfigResource, before: Any, changes: Changes) -> Changes:
    """Return the changes that differ from what is set. Those of a broker are always written: a broker reads key files
    again when they are set to the path they had."""
    if resource.type is ResourceType.BROKER:
        return changes
    return {name: value for name, value in changes.items() if before.get(name) != value}


def _alter_all(
    state: ControllerState, resources: Sequence[R], changes: Callable[[ConfigResource, R], Changes], is_forwarded: bool
) -> Slices[list[Outcome]]:
    times: dict[tuple[int, str], int] = {}
    for count, asked in enumerate(resources, 1):
        key = (asked.resource_type, asked.resource_name)
        times[key] = times.get(key, 0) + 1
        if count % SLICE == 0:
            yield
    outcomes: list[Outcome] = []
    for asked in resources:
        is_repeated = times[asked.resource_type, asked.resource_name] > 1
        outcomes.append(_REPEATED if is_repeated else _alter_one(state, asked, changes, is_forwarded))
        if len(outcomes) % _SLICE == 0:
            yield
    if sum(len(outcome.records) for outcome in outcomes) > RECORDS_MAX:
        return [Outcome(ErrorCode.POLICY_VIOLATION, f"more than {RECORDS_MAX} changes in one request")] * len(outcomes)
    return outcomes


_REPEATED = Outcome(ErrorCode.INVALID_REQUEST, "this resource is there twice in one request")


def _alter_one(
    state: ControllerState, asked: R, changes: Callable[[ConfigResource, R], Changes], is_forwarded: bool
) -> Outcome:
    try:
        resource = find_resource(asked.resource_type, asked.resource_name)
        check_settings_count(len(asked.configs))
        found = changes(resource, asked)
        check_changes(state, resource, found, is_forwarded=is_forwarded)
        check_exists(state, resource)
    except ApiError as error:
        return Outcome.refused(error)
    except ConfigError as error:
        return Outcome(error.code, str(error))
    return Outcome(records=change_records(resource, found, elr_enabled=state.elr_enabled))


def _all_records(outcomes: list[Outcome]) -> list[Record]:
    return [record for outcome in outcomes for record in outcome.records]


def _rows(make: Callable[..., T], resources: Sequence[Asked], outcomes: list[Outcome]) -> Slices[list[T]]:
    rows: list[T] = []
    for asked, outcome in zip(resources, outcomes, strict=True):
        rows.append(
            make(
                error_code=outcome.code,
                error_message=outcome.message,
                resource_type=asked.resource_type,
                resource_name=asked.resource_name,
            )
        )
        if len(rows) % SLICE == 0:
            yield
    return rows
