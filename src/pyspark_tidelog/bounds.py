"""From what a user says (earliest, a time, an offset for each partition) to offsets.

Times go by the log's order, as everywhere in Kafka: a time stands for the first record that is not older. Where records
are out of order, some that are older may follow it.
"""

from collections.abc import Iterable, Mapping

from pyspark_tidelog.cluster import ClusterView
from pyspark_tidelog.offsets import EARLIEST, LATEST, ByPartition, ByTime, Earliest, Latest, Offsets, OffsetSpec
from tidelog.model.ids import TopicPartition


def starting(view: ClusterView, spec: OffsetSpec, places: Iterable[TopicPartition]) -> Offsets:
    """Partitions that are gone by now are left out."""
    places = list(places)
    if isinstance(spec, ByTime):
        found = view.at_times(spec.of(places))
        if spec.no_match == "error":
            for place in (place for place, offset in found.items() if offset is None):
                raise spec.missing(place)
        return _or_latest(view, found)
    return _offsets(view, spec, places)


def ending(view: ClusterView, spec: OffsetSpec, places: Iterable[TopicPartition]) -> Offsets:
    """Exclusive. A time after the last record is the end of the log."""
    places = list(places)
    if isinstance(spec, ByTime):
        return _or_latest(view, view.at_times(spec.of(places)))
    return _offsets(view, spec, places)


def _offsets(view: ClusterView, spec: Earliest | Latest | ByPartition, places: list[TopicPartition]) -> Offsets:
    match spec:
        case Earliest():
            return view.earliest(places)
        case Latest():
            return view.latest(places)
        case ByPartition():
            named = spec.of(places)
            found = view.earliest(place for place, offset in named.items() if offset == EARLIEST)
            found |= view.latest(place for place, offset in named.items() if offset == LATEST)
            return found | {place: offset for place, offset in named.items() if offset >= 0}


def _or_latest(view: ClusterView, found: Mapping[TopicPartition, int | None]) -> Offsets:
    offsets = {place: offset for place, offset in found.items() if offset is not None}
    return offsets | view.latest(place for place, offset in found.items() if offset is None)
