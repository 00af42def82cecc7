"""What each kind of resource lets be set: its name, its settings, and whether it must exist.

The settings themselves are judged by `tidelog.config`; here stands what only the controller knows.
"""

from collections.abc import Iterable, Mapping

from tidelog.config import (
    Alteration,
    AlterOp,
    ConfigError,
    alter_broker,
    alter_client_metrics,
    alter_group,
    alter_topic,
)
from tidelog.config.catalogue import CLIENT_METRICS
from tidelog.config.setting import InvalidValue
from tidelog.config.settings import log
from tidelog.controller.config_records import MIN_INSYNC_REPLICAS
from tidelog.controller.state import ALL_BROKERS, ControllerState
from tidelog.controller.topic_names import check_topic_name
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.record_versions import CORDONED_LOG_DIRS_FROM
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.create_topics import CreatableTopic

VALUE_LENGTH_MAX = 32767
SETTINGS_MAX = 1_000  # of one resource in one request: twice as many as Kafka has for all kinds of resources
CORDONED_LOG_DIRS = log.CORDONED_LOG_DIRS.name
INTERVAL_MS = "interval.ms"  # of a subscription to client metrics
_ALTERABLE = (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.CLIENT_METRICS, ResourceType.GROUP)

Overrides = Mapping[str, str]
Changes = Mapping[str, str | None]


def find_resource(type_number: int, name: str) -> ConfigResource:
    """Return the resource. Raises ApiError for a kind that has no settings here, or a name that no such resource can
    have."""
    if type_number not in _ALTERABLE:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"resources of type {type_number} have no settings to alter here")
    resource = ConfigResource(ResourceType(type_number), name)
    if resource.type is ResourceType.BROKER:
        _check_broker_name(name)
    elif not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"a {resource.type.name} needs a name")
    elif resource.type is ResourceType.TOPIC:
        check_topic_name(name)
    return resource


def _check_broker_name(name: str) -> None:
    if name and not (name.isascii() and name.isdigit() and str(int(name[:11])) == name):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{name[:80]!r} is no broker id")


def check_settings_count(count: int) -> None:
    """Raise ApiError where a resource is given more settings than any has: each of them would be looked at, compared
    with all known names and told of, in one turn of the loop."""
    if count > SETTINGS_MAX:
        text = f"{count} settings for one resource; no resource has more than {SETTINGS_MAX}"
        raise ApiError(ErrorCode.INVALID_CONFIG, text)


def check_exists(state: ControllerState, resource: ConfigResource) -> None:
    """Raise ApiError for a topic or broker that does not exist. Groups and client metrics come to be by their
    settings."""
    if resource.type is ResourceType.TOPIC and resource.name not in state.metadata.topics.by_name:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {resource.name}")
    if resource.type is ResourceType.BROKER and resource != ALL_BROKERS and not _is_node(state, int(resource.name)):
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"no node {resource.name} is registered")


def _is_node(state: ControllerState, node_id: int) -> bool:
    return (
        node_id in state.metadata.brokers or node_id in state.metadata.controllers or node_id in state.quorum_node_ids
    )


def alter(
    state: ControllerState, resource: ConfigResource, current: Overrides, alterations: Iterable[Alteration]
) -> Overrides:
    """Return the overrides afterwards. Raises ConfigError when a setting, or all of them together, will not do."""
    stored = state.overrides(resource)
    match resource.type:
        case ResourceType.TOPIC:
            return alter_topic(state.config, current, alterations, stored)
        case ResourceType.GROUP:
            return alter_group(state.config, current, alterations)
        case ResourceType.CLIENT_METRICS:
            return _alter_client_metrics(current, alterations)
        case _:
            return alter_broker(state.config, current, alterations, cluster_wide=resource == ALL_BROKERS)


def _alter_client_metrics(current: Overrides, alterations: Iterable[Alteration]) -> Overrides:
    """Alter a subscription to client metrics. Kafka calls an unknown name or an interval out of range a malformed
    request here, and nowhere else."""
    try:
        return alter_client_metrics(current, alterations)
    except ConfigError as error:
        if any(
            problem.name not in CLIENT_METRICS or _is_out_of_range(problem.name, problem.given)
            for problem in error.problems
        ):
            raise ConfigError(error.problems, ErrorCode.INVALID_REQUEST) from error
        raise


def _is_out_of_range(name: str, given: str | None) -> bool:
    if name != INTERVAL_MS or not (given or "").lstrip("-").isdigit():
        return False
    try:
        CLIENT_METRICS[INTERVAL_MS].parse(given or "")
    except InvalidValue:
        return True
    return False


def check_changes(state: ControllerState, resource: ConfigResource, changes: Changes, *, is_forwarded: bool) -> None:
    """Check the rules that depend on the cluster's features, and on who asks."""
    for name, value in changes.items():
        if value is not None and len(value) > VALUE_LENGTH_MAX:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"{name}: longer than {VALUE_LENGTH_MAX} characters")
    if resource.type is ResourceType.BROKER:
        _check_min_isr(state, resource, changes)
        _check_cordoned(state, resource, changes, is_forwarded)


def _check_min_isr(state: ControllerState, resource: ConfigResource, changes: Changes) -> None:
    """Raise ApiError for a min ISR of one broker, or for its removal, with eligible leaders: the controller counts
    them, so all brokers must have the same min ISR, and always one."""
    if not state.elr_enabled or MIN_INSYNC_REPLICAS not in changes:
        return
    if resource != ALL_BROKERS:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"{MIN_INSYNC_REPLICAS}: with eligible leader replicas it is set for all brokers"
        )
    if changes[MIN_INSYNC_REPLICAS] is None:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"{MIN_INSYNC_REPLICAS}: with eligible leader replicas it must stay set"
        )


def _check_cordoned(state: ControllerState, resource: ConfigResource, changes: Changes, is_forwarded: bool) -> None:
    if CORDONED_LOG_DIRS not in changes:
        return
    if state.metadata.metadata_version < CORDONED_LOG_DIRS_FROM:
        raise ApiError(
            ErrorCode.INVALID_CONFIG, f"{CORDONED_LOG_DIRS}: needs metadata.version {CORDONED_LOG_DIRS_FROM} or higher"
        )
    # Only the broker can judge paths. A request that comes straight to the controller can only take entries away.
    before = _entries(state.overrides(resource).get(CORDONED_LOG_DIRS))
    if not is_forwarded and any(each not in before for each in _entries(changes[CORDONED_LOG_DIRS])):
        raise ApiError(ErrorCode.INVALID_CONFIG, f"{CORDONED_LOG_DIRS}: ask the broker itself to add a directory")


def _entries(text: str | None) -> list[str]:
    return [entry.strip() for entry in (text or "").split(",") if entry.strip()]


def settings_of_new_topic(state: ControllerState, topic: CreatableTopic) -> Overrides:
    """Return the settings that a topic is created with. A setting that is there twice has its last value, as in
    Kafka."""
    check_settings_count(len(topic.configs))
    given = {config.name: config.value for config in topic.configs}
    nulls = [name for name, value in given.items() if value is None]
    if nulls:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"no value was given for {', '.join(nulls)}")
    settings = alter_topic(state.config, {}, [Alteration(name, AlterOp.SET, text) for name, text in given.items()])
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    check_changes(state, resource, settings, is_forwarded=True)
    return settings
