"""The configuration of one group, resolved once into plain attributes.

What a group was configured with may have gone out of a broker's limits since (limits are read-only settings, which
change at a restart); such a value is brought back to the limit, so that a stored override never beats it.
"""

from collections.abc import Mapping
from typing import TypeVar

from tidelog.config.layers import ConfigSource, resolve_override
from tidelog.config.setting import Setting
from tidelog.config.settings import group, groups, share
from tidelog.config.values import Values
from tidelog.model.lazy_dataclass import dataclass

V = TypeVar("V")

# The settings of a group that have limits, each with the two settings of the broker between which it must lie.
LIMITS: tuple[tuple[Setting[int], Setting[int], Setting[int]], ...] = (
    (
        group.CONSUMER_SESSION_TIMEOUT_MS,
        groups.GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS,
        groups.GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS,
    ),
    (
        group.CONSUMER_HEARTBEAT_INTERVAL_MS,
        groups.GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS,
        groups.GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS,
    ),
    (
        group.CONSUMER_ASSIGNMENT_INTERVAL_MS,
        groups.GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS,
        groups.GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS,
    ),
    (
        group.SHARE_SESSION_TIMEOUT_MS,
        share.GROUP_SHARE_MIN_SESSION_TIMEOUT_MS,
        share.GROUP_SHARE_MAX_SESSION_TIMEOUT_MS,
    ),
    (
        group.SHARE_HEARTBEAT_INTERVAL_MS,
        share.GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS,
        share.GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS,
    ),
    (
        group.SHARE_ASSIGNMENT_INTERVAL_MS,
        share.GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS,
        share.GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS,
    ),
    (
        group.SHARE_RECORD_LOCK_DURATION_MS,
        share.GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS,
        share.GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS,
    ),
    (
        group.SHARE_DELIVERY_COUNT_LIMIT,
        share.GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT,
        share.GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT,
    ),
    (
        group.SHARE_PARTITION_MAX_RECORD_LOCKS,
        share.GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS,
        share.GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS,
    ),
)
_LIMITS_BY_NAME = {setting.name: (low, high) for setting, low, high in LIMITS}


@dataclass(slots=True)
class GroupConfig:
    """The settings of one group that are honoured, named as the settings are, dots turned to underscores."""

    consumer_session_timeout_ms: int
    consumer_heartbeat_interval_ms: int
    consumer_assignment_interval_ms: int


def resolve_group_config(overrides: Mapping[str, str], values: Values) -> GroupConfig:
    """Return the configuration of a group: its overrides, whose text must be valid, over what its broker says."""

    def read(setting: Setting[V]) -> V:
        return resolve_override(setting, overrides, ConfigSource.DYNAMIC_GROUP_CONFIG, values.layers).value

    def bounded(setting: Setting[int]) -> int:
        low, high = _LIMITS_BY_NAME[setting.name]
        return min(max(read(setting), values.get(low)), values.get(high))

    return GroupConfig(
        consumer_session_timeout_ms=bounded(group.CONSUMER_SESSION_TIMEOUT_MS),
        consumer_heartbeat_interval_ms=bounded(group.CONSUMER_HEARTBEAT_INTERVAL_MS),
        consumer_assignment_interval_ms=bounded(group.CONSUMER_ASSIGNMENT_INTERVAL_MS),
    )
