"""Rules about one group's configuration: within the broker's limits, and a session longer than its heartbeats."""

from collections.abc import Iterator, Mapping

from tidelog.config.group_config import LIMITS
from tidelog.config.layers import ConfigSource, resolve_override
from tidelog.config.problems import Problem
from tidelog.config.setting import Setting
from tidelog.config.settings import group
from tidelog.config.values import Values

_BELOW = (
    (group.CONSUMER_HEARTBEAT_INTERVAL_MS, group.CONSUMER_SESSION_TIMEOUT_MS),
    (group.SHARE_HEARTBEAT_INTERVAL_MS, group.SHARE_SESSION_TIMEOUT_MS),
)


def group_fits_the_broker(overrides: Mapping[str, str], values: Values) -> Iterator[Problem]:
    def read(setting: Setting[int]) -> int:
        return resolve_override(setting, overrides, ConfigSource.DYNAMIC_GROUP_CONFIG, values.layers).value

    for setting, low, high in LIMITS:
        if setting.name not in overrides:
            continue
        value, valid = read(setting), f"from {values.get(low)} to {values.get(high)}"
        if value < values.get(low):
            yield Problem(setting.name, f"below {low.name}", str(value), valid)
        if value > values.get(high):
            yield Problem(setting.name, f"above {high.name}", str(value), valid)
    for heartbeat, session in _BELOW:
        if read(heartbeat) >= read(session):
            yield Problem(heartbeat.name, f"not below {session.name} = {read(session)}", str(read(heartbeat)))
