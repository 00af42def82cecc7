"""UpdateFeatures: raise or lower the cluster's finalized feature levels, all of a request or none.

A level is only finalized when every registered node can work with it. Lowering one must be asked for as a downgrade;
metadata.version goes down only where no record changed its form in between, since nothing is ever rewritten.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum

from tidelog.config.settings import replication
from tidelog.controller.config_records import MIN_INSYNC_REPLICAS, config_record
from tidelog.controller.results import Record, Result
from tidelog.controller.state import ALL_BROKERS, ControllerState
from tidelog.metadata.configs import ResourceType
from tidelog.metadata.feature_levels import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SERVED,
    level_problem,
    metadata_version_name,
)
from tidelog.metadata.nodes import VersionRange
from tidelog.metadata.record_versions import CONTROLLER_REGISTRATION_FROM
from tidelog.metadata.records.cluster import FeatureLevelRecord
from tidelog.metadata.records.transactions import NoOpRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclass import dataclass
from tidelog.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

# The metadata.versions that brought records, or fields, that the one before could not read.
RECORDS_CHANGED_AT = (8, 11, 13, 14, 15, 17, 23, 30)
_NOT_SUPPORTED = VersionRange(0, 0)
UPDATES_MAX = 1_000  # in one request, which is one step, because all updates are made or none; Kafka has few features


class UpgradeType(IntEnum):
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(slots=True)
class _Update:
    feature: str
    level: int
    current: int
    kind: UpgradeType


def update_features(state: ControllerState, request: UpdateFeaturesRequest) -> Result:
    if len(request.feature_updates) > UPDATES_MAX:
        message = f"no feature was updated: {len(request.feature_updates)} were asked for, {UPDATES_MAX} are the most"
        code = ErrorCode.INVALID_REQUEST
        return Result([], UpdateFeaturesResponse(throttle_time_ms=0, error_code=code, error_message=message))
    # Where a feature is there twice the last update counts, as in Kafka.
    asked = {update.feature: update for update in request.feature_updates}
    levels = {**dict(state.metadata.features.items()), **{name: each.max_version_level for name, each in asked.items()}}
    records: list[Record] = []
    try:
        for each in asked.values():
            records += _update(state, _read(state, each), levels)
    except ApiError as error:
        message = f"no feature was updated: {error.message}"
        return Result([], UpdateFeaturesResponse(throttle_time_ms=0, error_code=error.code, error_message=message))
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0 and ELIGIBLE_LEADER_REPLICAS_VERSION in asked:
        records = [*elr_safety_records(state), *records]
    results = [UpdatableFeatureResult(feature=name, error_code=ErrorCode.NONE, error_message=None) for name in asked]
    response = UpdateFeaturesResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None, results=results
    )
    return Result([] if request.validate_only else records, response)


def _read(state: ControllerState, asked: FeatureUpdateKey) -> _Update:
    number = UpgradeType.SAFE_DOWNGRADE if asked.allow_downgrade else asked.upgrade_type
    name, level = asked.feature, asked.max_version_level
    current = state.kraft_version if name == KRAFT_VERSION else state.metadata.features.get(name, 0)
    if number not in tuple(UpgradeType):
        raise _refusal(name, level, f"{number} is no type of upgrade")
    return _Update(name, level, current, UpgradeType(number))


def _update(state: ControllerState, update: _Update, levels: Mapping[str, int]) -> list[Record]:
    name, level = update.feature, update.level
    if level < 0:
        raise _refusal(name, level, "levels start at 0")
    for reason in _unsupported(state, name, level):
        raise _refusal(name, level, reason)
    if level < update.current and update.kind is UpgradeType.UPGRADE:
        raise _refusal(name, level, f"it is at {update.current}; to lower it, ask for a downgrade")
    if level > update.current and update.kind is not UpgradeType.UPGRADE:
        raise _refusal(name, level, f"it is at {update.current}; that would be no downgrade")
    if name == KRAFT_VERSION:
        return _kraft_version_records(update)
    if name == METADATA_VERSION:
        _check_downgrade(update)
    elif problem := level_problem(name, level, levels):
        raise _refusal(name, level, problem)
    return [(FeatureLevelRecord(name=name, feature_level=level), 0)]


def _unsupported(state: ControllerState, name: str, level: int) -> Iterator[str]:
    """Yield the reasons why not every node can work with this level."""
    if level not in SERVED.get(name, _NOT_SUPPORTED):
        yield f"this release of Tidelog does not serve it ({_range(SERVED.get(name, _NOT_SUPPORTED))})"
    for broker_id in sorted(state.metadata.brokers):
        supported = state.metadata.brokers[broker_id].features.get(name, _NOT_SUPPORTED)
        if level not in supported:
            yield f"broker {broker_id} does not support it ({_range(supported)})"
    if state.metadata.metadata_version < CONTROLLER_REGISTRATION_FROM:
        return
    for controller_id in sorted(dict.fromkeys((*state.metadata.controllers, *state.quorum_node_ids))):
        registered = state.metadata.controllers.get(controller_id)
        if controller_id == state.node_id:
            continue
        if registered is None:
            yield f"controller {controller_id} has not registered and may not support it"
        elif level not in registered.features.get(name, _NOT_SUPPORTED):
            yield f"controller {controller_id} does not support it"


def _range(supported: VersionRange) -> str:
    return "not at all" if supported == _NOT_SUPPORTED else f"only {supported.min} to {supported.max}"


def _kraft_version_records(update: _Update) -> list[Record]:
    """Return the records for a confirmation of kraft.version, which the quorum settles in records of its own. A record
    is written all the same, so that the answer waits until this controller is known to lead."""
    if update.level != update.current:
        raise _refusal(KRAFT_VERSION, update.level, "a running quorum keeps the kraft.version it was formatted with")
    return [(NoOpRecord(), 0)] if update.kind is UpgradeType.UPGRADE else []


def _check_downgrade(update: _Update) -> None:
    changed = [level for level in RECORDS_CHANGED_AT if update.level < level <= update.current]
    if changed:
        raise _refusal(
            METADATA_VERSION, update.level, f"{metadata_version_name(changed[0])} brought records that it cannot read"
        )


def elr_safety_records(state: ControllerState) -> list[Record]:
    """Return the records without which eligible leaders may not be counted: one min ISR for all brokers, and none of a
    broker's own."""
    records: list[Record] = []
    if MIN_INSYNC_REPLICAS not in state.overrides(ALL_BROKERS):
        value = state.file_config.get(replication.MIN_INSYNC_REPLICAS)
        records.append((config_record(ALL_BROKERS, MIN_INSYNC_REPLICAS, str(value)), 0))
    own = sorted(
        resource
        for resource, settings in state.metadata.configs.items()
        if resource.type is ResourceType.BROKER and resource != ALL_BROKERS and MIN_INSYNC_REPLICAS in settings
    )
    return records + [(config_record(resource, MIN_INSYNC_REPLICAS, None), 0) for resource in own]


def _refusal(name: str, level: int, reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_UPDATE_VERSION, f"{name} cannot be set to {level}: {reason}")
