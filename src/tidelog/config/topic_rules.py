"""Rules about one topic's configuration. The same hold for a broker's defaults, under the broker's names: `prefix`."""

from collections.abc import Iterator

from tidelog.config.problems import Problem
from tidelog.config.topic_config import SAME_AS_RETENTION, UNLIMITED, TopicConfig


def compaction_lags_do_not_cross(config: TopicConfig, prefix: str = "") -> Iterator[Problem]:
    low, high = config.min_compaction_lag_ms, config.max_compaction_lag_ms
    if low > high:
        yield Problem(
            f"{prefix}min.compaction.lag.ms",
            f"above {prefix}max.compaction.lag.ms = {high}",
            str(low),
            f"at most {high}",
        )


def local_retention_fits(config: TopicConfig, prefix: str = "") -> Iterator[Problem]:
    """What is kept on local disk must not be more than what is kept at all."""
    pairs = (
        ("ms", config.local_retention_ms, config.retention_ms),
        ("bytes", config.local_retention_bytes, config.retention_bytes),
    )
    for unit, local, whole in pairs:
        if whole <= UNLIMITED or local == SAME_AS_RETENTION:
            continue
        if local == UNLIMITED or local > whole:
            name = f"{prefix}local.retention.{unit}"
            yield Problem(name, f"more than {prefix}retention.{unit} = {whole}", str(local), f"-2, or at most {whole}")


def remote_storage_is_possible(config: TopicConfig, system_enabled: bool) -> Iterator[Problem]:
    if not config.remote_storage_enable:
        return
    if not system_enabled:
        yield Problem("remote.storage.enable", "remote.log.storage.system.enable is not on", "true", "false")
    if config.compacts:
        policy = ",".join(config.cleanup_policy)
        yield Problem("cleanup.policy", "remote storage does not compact", policy, "delete, or empty")
    yield from local_retention_fits(config)
    if config.remote_log_copy_disable:
        yield from _nothing_more_is_copied(config)


def _nothing_more_is_copied(config: TopicConfig) -> Iterator[Problem]:
    """Then whatever leaves local disk is lost, so local and whole retention must be the same."""
    pairs = (
        ("ms", config.local_retention_ms, config.retention_ms),
        ("bytes", config.local_retention_bytes, config.retention_bytes),
    )
    for unit, local, whole in pairs:
        if local not in (SAME_AS_RETENTION, whole):
            reason = f"not retention.{unit} = {whole}, though remote.log.copy.disable is on"
            yield Problem(f"local.retention.{unit}", reason, str(local), f"-2 or {whole}")


def remote_data_is_not_forgotten(before: TopicConfig, after: TopicConfig) -> Iterator[Problem]:
    turned_off = before.remote_storage_enable and not after.remote_storage_enable
    if turned_off and not after.remote_log_delete_on_disable:
        yield Problem(
            "remote.storage.enable",
            "what is in the remote store would be left behind",
            "false",
            "false with remote.log.delete.on.disable=true, or true with remote.log.copy.disable=true",
        )
