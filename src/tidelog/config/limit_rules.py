"""Rules about numbers that must not cross: a default between its limits, a wait shorter than the timeout around it."""

from collections.abc import Iterator
from typing import Any

from tidelog.config.group_config import LIMITS
from tidelog.config.layers import ConfigSource, resolve_override
from tidelog.config.problems import Problem
from tidelog.config.rules import Rule, violation
from tidelog.config.setting import InvalidValue, Setting
from tidelog.config.settings import cleaner, groups, listeners, log, replication, share, topic
from tidelog.config.topic_config import resolve_topic_config
from tidelog.config.topic_rules import compaction_lags_do_not_cross
from tidelog.config.units import MIB
from tidelog.config.values import Values

# The first must not be above the second. (That limits do not cross each other follows from what lies between them.)
_AT_MOST: tuple[tuple[Setting[int], Setting[int]], ...] = (
    *((low, setting.synonyms[0].setting) for setting, low, _ in LIMITS),
    *((setting.synonyms[0].setting, high) for setting, _, high in LIMITS),
    (replication.REPLICA_FETCH_WAIT_MAX_MS, replication.REPLICA_SOCKET_TIMEOUT_MS),
    (replication.REPLICA_FETCH_WAIT_MAX_MS, replication.REPLICA_LAG_TIME_MAX_MS),
    (share.GROUP_SHARE_MAX_SIZE, share.GROUP_SHARE_MAX_SHARE_SESSIONS),
)
# The first must be below the second.
_BELOW: tuple[tuple[Setting[int], Setting[int]], ...] = (
    (groups.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS, groups.GROUP_CONSUMER_SESSION_TIMEOUT_MS),
    (share.GROUP_SHARE_HEARTBEAT_INTERVAL_MS, share.GROUP_SHARE_SESSION_TIMEOUT_MS),
)


def numbers_do_not_cross(values: Values) -> Iterator[Problem]:
    for low, high in _AT_MOST:
        if values.get(low) > values.get(high):
            yield violation(values, low, f"above {high.name} = {values.get(high)}", f"at most {values.get(high)}")
    for low, high in _BELOW:
        if values.get(low) >= values.get(high):
            yield violation(values, low, f"not below {high.name} = {values.get(high)}", f"below {values.get(high)}")


def cleaners_have_memory(values: Values) -> Iterator[Problem]:
    threads = values.get(cleaner.LOG_CLEANER_THREADS)
    if threads == 0:
        yield violation(values, cleaner.LOG_CLEANER_THREADS, "nobody would compact", "an int of at least 1")
    elif values.get(cleaner.LOG_CLEANER_DEDUPE_BUFFER_SIZE) // threads <= MIB:
        reason = f"not enough for log.cleaner.threads = {threads}"
        yield violation(values, cleaner.LOG_CLEANER_DEDUPE_BUFFER_SIZE, reason, f"more than {threads * MIB}")


def a_request_fits_in_the_queue(values: Values) -> Iterator[Problem]:
    queue, largest = values.get(listeners.QUEUED_MAX_REQUEST_BYTES), values.get(listeners.SOCKET_REQUEST_MAX_BYTES)
    if 0 < queue < largest:
        reason = f"below socket.request.max.bytes = {largest}"
        yield violation(values, listeners.QUEUED_MAX_REQUEST_BYTES, reason, f"-1, or at least {largest}")


def somebody_may_connect(values: Values) -> Iterator[Problem]:
    none = values.get(listeners.MAX_CONNECTIONS_PER_IP) == 0
    if none and not values.get(listeners.MAX_CONNECTIONS_PER_IP_OVERRIDES):
        reason = "nobody could connect, as max.connections.per.ip.overrides is empty"
        yield violation(values, listeners.MAX_CONNECTIONS_PER_IP, reason, "an int of at least 1")


def a_failed_login_is_answered(values: Values) -> Iterator[Problem]:
    idle_ms = values.get(listeners.CONNECTIONS_MAX_IDLE_MS)
    if 0 <= idle_ms <= values.get(listeners.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS):
        reason = f"not below connections.max.idle.ms = {idle_ms}"
        yield violation(values, listeners.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS, reason, f"below {idle_ms}")


def topic_defaults_are_valid(values: Values) -> Iterator[Problem]:
    """Yield each broker setting for topics whose value a topic could not have itself. (retention.ms is left out: it may
    be any negative number.)"""
    for setting in (topic.SEGMENT_MS, topic.SEGMENT_JITTER_MS, topic.FLUSH_MS):
        _need_synonyms(values, setting)
        resolved = resolve_override(setting, {}, ConfigSource.DYNAMIC_TOPIC_CONFIG, values.layers)
        try:
            setting.check(resolved.value)
        except InvalidValue as error:
            yield Problem(resolved.name, f"{error}, for {setting.name}", str(resolved.value), setting.valid)


def retention_is_not_zero(values: Values) -> Iterator[Problem]:
    in_order: tuple[Setting[Any], ...] = (log.LOG_RETENTION_MS, log.LOG_RETENTION_MINUTES, log.LOG_RETENTION_HOURS)
    chosen = next(setting for setting in in_order if values.get(setting) is not None)
    if values.get(chosen) == 0:
        yield violation(values, chosen, "every record would be deleted at once", "at least 1, or -1 for never")


def topic_defaults_agree(values: Values) -> Iterator[Problem]:
    for setting in (topic.MIN_COMPACTION_LAG_MS, topic.MAX_COMPACTION_LAG_MS):
        _need_synonyms(values, setting)
    yield from compaction_lags_do_not_cross(resolve_topic_config({}, values.layers), "log.cleaner.")


def _need_synonyms(values: Values, setting: Setting[int]) -> None:
    """Raise Unresolved when one of the synonyms was refused: the default that stands in for it is not what anybody
    asked for."""
    for synonym in setting.synonyms:
        values.get(synonym.setting)


LIMIT_RULES: tuple[Rule, ...] = (
    numbers_do_not_cross,
    cleaners_have_memory,
    a_request_fits_in_the_queue,
    somebody_may_connect,
    a_failed_login_is_answered,
    topic_defaults_are_valid,
    retention_is_not_zero,
    topic_defaults_agree,
)
