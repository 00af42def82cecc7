"""Computes the lag of each partition from a query's progress. Spark gives a source in Python no way to put numbers of
its own into `StreamingQueryProgress` (as of 4.2 its stream has no metrics), but it does report where the batch ended
and where the logs ended (`latestOffset`, from PySpark 4.2 on), and the lag is the difference.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark_tidelog.kafka.offsets import Offsets, from_json
from pyspark_tidelog.source import planning

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    Progress: TypeAlias = StreamingQueryProgress | Mapping[str, Any] | str


def lag(progress: "Progress | None") -> Offsets:
    """Return how many records of each partition the query had not read when the batch was planned. `progress`:
    `query.lastProgress` or a listener's `event.progress`, as an object, a dict or JSON. The result is empty for a query
    that has made no progress yet, and has no partitions of sources that are not ours."""
    found: Offsets = {}
    for source in _sources(progress):
        end, latest = parse_reported(source.get("endOffset")), parse_reported(source.get("latestOffset"))
        if end is not None and latest is not None:
            found.update(planning.lag(end, latest))
    return found


def _sources(progress: "Progress | None") -> Iterator[Mapping[str, Any]]:
    if progress is None:
        return
    if isinstance(progress, Mapping):
        yield from progress["sources"]
    else:
        yield from json.loads(progress if isinstance(progress, str) else progress.json)["sources"]


def parse_reported(reported: object) -> Offsets | None:
    """Return the offsets that Spark shows in a progress, as JSON text or parsed; None where they are not offsets by
    topic and partition."""
    try:
        offsets = json.loads(reported) if isinstance(reported, str) else reported
        if not isinstance(offsets, dict) or not all(isinstance(each, dict) for each in offsets.values()):
            return None
        found = from_json(offsets)
    except ValueError:
        return None
    return found if all(isinstance(offset, int) for offset in found.values()) else None
