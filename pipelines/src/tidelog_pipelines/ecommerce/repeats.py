"""Repeated events counted once, with the log itself as the memory.

A repeat has its user's key, so it lies in the same partition as the first, and it comes soon after: whether an event is
one depends on the records just before it in its partition, and on nothing else. So nothing is kept in Spark's state
(`dropDuplicatesWithinWatermark` keeps a row for every event and walks all of them in every micro-batch: at 20,000
events a second that is most of the work). A worker remembers the ids that it saw last; where it did not see what came
before (another worker did, or the job was started again), it reads those few seconds from the log once more. The
answer is a function of the log alone, so a batch that is replayed counts the same events.

This holds on rows as the source reads them: in order, before anything is shuffled, and with no record left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from tidelog_pipelines.ecommerce.events import COORDINATES, REPEAT_MS_MAX

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame


class EventLog(Protocol):
    """A log to look up events in that were not seen."""

    @property
    def name(self) -> str:
        """The name of the cluster."""

    def ids(self, topic: str, partition: int, start: int, end: int, since_ms: int) -> Iterable[tuple[str, int]]:
        """Yield ids and timestamps of the events in [start, end) that are not older than `since_ms`, in the order of
        the log."""


@dataclass(slots=True)
class Recent:
    """The ids in one partition up to an offset, and when each was seen last; the oldest come first."""

    next_offset: int = 0
    seen_ms: dict[str, int] = field(default_factory=dict)

    def see(self, event_id: str, timestamp_ms: int) -> bool:
        """Note an event, and return whether it is a repeat: whether its id was here before, not longer ago than a
        repeat takes."""
        before_ms = self.seen_ms.pop(event_id, None)
        self.seen_ms[event_id] = timestamp_ms
        return before_ms is not None and timestamp_ms - before_ms <= REPEAT_MS_MAX

    def catch_up(self, log: EventLog, topic: str, partition: int, offset: int, timestamp_ms: int) -> None:
        """Read as much of the log as it takes to be right at `offset`, whatever was seen before."""
        if offset == self.next_offset:
            return
        if offset < self.next_offset:  # a batch is read again
            self.seen_ms.clear()
            self.next_offset = 0
        # Twice, because timestamps in a log need not be in order.
        for event_id, seen_ms in log.ids(topic, partition, self.next_offset, offset, timestamp_ms - 2 * REPEAT_MS_MAX):
            self.see(event_id, seen_ms)
        self.next_offset = offset

    def forget(self, timestamp_ms: int) -> None:
        """Forget the ids that are too old to be repeated. They are found in one walk: a dict begins at its first entry
        that ever was, so that to ask for the first again and again walks over all that is deleted."""
        limit_ms = timestamp_ms - 2 * REPEAT_MS_MAX
        old = list(takewhile(lambda each: each[1] < limit_ms, self.seen_ms.items()))
        for event_id, _ in old:
            del self.seen_ms[event_id]


# Of this worker process, which Spark uses again and again; by cluster, topic and partition.
_recent: dict[tuple[str, str, int], Recent] = {}


@dataclass(frozen=True, slots=True)
class FirstOfEach:
    """A function for `mapInArrow` that takes rows with `topic`, `partition`, `offset`, `timestamp_ms` and `event_id`
    (null: not to be counted) and yields the first of each id, without these columns."""

    log: EventLog

    def __call__(self, batches: Iterator["pyarrow.RecordBatch"]) -> Iterator["pyarrow.RecordBatch"]:
        import pyarrow as pa

        reached: dict[tuple[str, int], Recent] = {}  # in this task
        for batch in batches:
            rows = zip(
                *(batch.column(name).to_pylist() for name in (*COORDINATES, "timestamp_ms", "event_id")), strict=True
            )
            mask = pa.array([self._is_first(reached, *row) for row in rows], pa.bool_())
            yield batch.drop_columns([*COORDINATES, "timestamp_ms", "event_id"]).filter(mask)
        for recent in reached.values():
            if recent.seen_ms:
                recent.forget(next(reversed(recent.seen_ms.values())))

    def _is_first(
        self,
        reached: dict[tuple[str, int], Recent],
        topic: str,
        partition: int,
        offset: int,
        timestamp_ms: int,
        event_id: str | None,
    ) -> bool:
        recent = reached.get((topic, partition))
        if recent is None or offset < recent.next_offset:
            recent = _recent.setdefault((self.log.name, topic, partition), Recent())
            recent.catch_up(self.log, topic, partition, offset, timestamp_ms)
            reached[topic, partition] = recent
        recent.next_offset = offset + 1
        return event_id is not None and not recent.see(event_id, timestamp_ms)


def first_of_each(events: "DataFrame", log: EventLog) -> "DataFrame":
    """Return those of `events` that count, each id once. `events` has every record of the source, with `event_id` null
    in those that do not count."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    dropped = {*COORDINATES, "event_id", "timestamp_ms"}
    kept = StructType([each for each in events.schema.fields if each.name not in dropped])
    timed = events.select("*", F.unix_millis("timestamp").alias("timestamp_ms"))
    return timed.mapInArrow(FirstOfEach(log), kept)


def forget_all() -> None:
    """Forget all ids that this process has seen, as a new process would."""
    _recent.clear()
