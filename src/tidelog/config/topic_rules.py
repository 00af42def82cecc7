"""Rules about one topic's configuration. The same hold for a broker's defaults, under the broker's names: `prefix`."""

from collections.abc import Iterator, Mapping

from tidelog.config.problems import Problem
from tidelog.config.settings import topic
from tidelog.config.topic_config import TopicConfig


def compaction_lags_do_not_cross(config: TopicConfig, prefix: str = "") -> Iterator[Problem]:
    low, high = config.min_compaction_lag_ms, config.max_compaction_lag_ms
    if low > high:
        yield Problem(
            f"{prefix}min.compaction.lag.ms",
            f"above {prefix}max.compaction.lag.ms = {high}",
            str(low),
            f"at most {high}",
        )


def remote_data_is_not_forgotten(stored: Mapping[str, str], altered: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem where tiered storage is turned off. A topic that came with it on (Apache Kafka wrote its files)
    has segments in a store that cannot be reached from here, and the setting that says so must stay until whoever can
    reach the store turns it off."""
    name = topic.REMOTE_STORAGE_ENABLE.name
    if stored.get(name) == "true" and altered.get(name) != "true":
        yield Problem(
            name,
            "segments of the topic may be in a remote store that cannot be reached from here; turn it off with Apache "
            "Kafka, or delete the topic",
            altered.get(name),
        )
