"""Metrics of the group coordinators: groups by state, their lag, and what they did."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from tidelog.server.metrics.coordinators_survey import LAG_SERIES_MAX, Lag
from tidelog.server.metrics.declaration import Family, Kind, Sample, Section, one

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape

_LAG_LABELS: Final = ("group", "topic")
_BEANS: Final = "kafka_coordinator_group_groupmetadatamanager_"
_COUNTERS: Final = "kafka_server_groupcoordinatormetrics_"


def _each_lag(read: Callable[[Lag], int]) -> Callable[["Scrape"], Iterable[Sample]]:
    def samples(scrape: "Scrape") -> Iterable[Sample]:
        return ((key, read(lag)) for key, lag in scrape.coordinators.lag.items())

    return samples


def _groups(scrape: "Scrape") -> Iterable[Sample]:
    return list(scrape.coordinators.groups.items())


def _in_state(name: str, state: str) -> Family:
    """Kafka counts the classic ones here; the others by a metric of their own."""

    def value(scrape: "Scrape") -> int:
        return scrape.coordinators.groups.get(("classic", state), 0)

    kafka = f"kafka.coordinator.group:type=GroupMetadataManager,name={name}"
    help_text = f"Classic groups in the state {state}."
    return Family(f"{_BEANS}{name.lower()}", Kind.GAUGE, help_text, one(value), (), kafka)


def _counter(name: str, help_text: str, *counters: str) -> Family:
    """`counters`: by what names the coordinators count it."""

    def value(scrape: "Scrape") -> int:
        return sum(scrape.coordinators.group_counters.get(each, 0) for each in counters)

    kafka = f"kafka.server:type=group-coordinator-metrics {name}-count"
    return Family(f"{_COUNTERS}{name.replace('-', '_')}_total", Kind.COUNTER, help_text, one(value), (), kafka)


GROUP_METRICS = Section(
    "Groups",
    (
        Family(
            "tidelog_consumer_lag",
            Kind.GAUGE,
            "Offsets between what a group has committed and the high watermark, in all partitions of a topic together.",
            _each_lag(lambda lag: lag.total),
            _LAG_LABELS,
        ),
        Family(
            "tidelog_consumer_lag_max",
            Kind.GAUGE,
            "The same in the partition that is furthest behind.",
            _each_lag(lambda lag: lag.worst),
            _LAG_LABELS,
        ),
        Family(
            "tidelog_consumer_lag_left_out",
            Kind.GAUGE,
            "Pairs of group and topic whose lag is not told, because others are further behind.",
            one(lambda scrape: scrape.coordinators.lag_left_out),
        ),
        Family("tidelog_groups", Kind.GAUGE, "Groups that are coordinated here.", _groups, ("type", "state")),
        Family(
            f"{_BEANS}numgroups",
            Kind.GAUGE,
            "Groups that are coordinated here, of all types.",
            one(lambda scrape: sum(scrape.coordinators.groups.values())),
            (),
            "kafka.coordinator.group:type=GroupMetadataManager,name=NumGroups",
        ),
        Family(
            f"{_BEANS}numoffsets",
            Kind.GAUGE,
            "Committed offsets.",
            one(lambda scrape: scrape.coordinators.offsets),
            (),
            "kafka.coordinator.group:type=GroupMetadataManager,name=NumOffsets",
        ),
        _in_state("NumGroupsPreparingRebalance", "PreparingRebalance"),
        _in_state("NumGroupsCompletingRebalance", "CompletingRebalance"),
        _in_state("NumGroupsStable", "Stable"),
        _in_state("NumGroupsDead", "Dead"),
        _in_state("NumGroupsEmpty", "Empty"),
        _counter("offset-commit", "Offsets committed.", "offset-commits"),
        _counter("offset-expiration", "Offsets that expired.", "offset-expirations"),
        _counter("offset-deletion", "Offsets that were deleted.", "offset-deletions"),
        _counter("group-rebalance", "Rebalances of classic groups that began.", "rebalances"),
        _counter("group-completed-rebalance", "Rebalances of classic groups that ended.", "completed rebalances"),
        _counter("consumer-group-rebalance", "New epochs of consumer groups.", "consumer-group-rebalances"),
    ),
    "Of the groups that this broker coordinates; of their lag, the partitions that it hosts as well (one that only\n"
    f"another broker has, is not told). The {LAG_SERIES_MAX:,} pairs of group and topic that are furthest behind are\n"
    "told, and of the others how many they are. `tidelog groups lag` tells it for every partition, with rates.\n"
    "Counters begin again when a coordinator moves to another broker.",
)
