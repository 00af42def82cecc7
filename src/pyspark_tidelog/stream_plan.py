"""What a streaming query reads next: from which offset, up to which, in which tasks. Spark's reader is a thin shell
around it.

The rules are those of Spark's connector: a query starts where its options say, once; partitions that are new start at
their beginning; those that are gone, and logs that end before the offset that the query has reached, are data loss. One
thing more is seen: a topic that was deleted and made anew has another id, even where its log is as long as the old one
by now. It is lost data as well, and read from its beginning where the query may go on.

Losses are found when the end of a batch is chosen, before Spark has written it down (a batch that can not be read would
fail the query again at every restart), and again when it is planned: a restart plans batches that were chosen before.
"""

import time
from collections.abc import Callable

from pyspark_tidelog import bounds
from pyspark_tidelog.cluster import ClusterView, Found
from pyspark_tidelog.data_loss import report
from pyspark_tidelog.errors import DataLoss
from pyspark_tidelog.fetch_task import FetchTask
from pyspark_tidelog.offsets import Offsets
from pyspark_tidelog.options import SourceOptions
from pyspark_tidelog.planning import OffsetRange, admit, backlog, split
from pyspark_tidelog.tasks import fetch_tasks
from pyspark_tidelog.trigger_delay import TriggerDelay
from tidelog.model.ids import Uuid


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class StreamPlan:
    def __init__(self, options: SourceOptions, view: ClusterView, now_ms: Callable[[], int] = monotonic_ms) -> None:
        self._options = options
        self._view = view
        self._found: Found | None = None  # as of the last look
        self._read_ids: dict[str, Uuid] = {}  # of the topics that the offsets of the query belong to
        self._initial: Offsets | None = None
        self._available_now = False
        self._target: Offsets | None = None  # of Trigger.AvailableNow
        self._delay = TriggerDelay(options.min_offsets_per_trigger, options.max_trigger_delay_ms, now_ms)
        self._planned: tuple[Offsets, Offsets, list[FetchTask]] | None = None  # the last batch
        self.latest_seen: Offsets | None = None  # whatever of it was admitted

    def initial(self) -> Offsets:
        """Asked once for a query's life, before there is a checkpoint."""
        if self._initial is None:
            self._found = self._view.find_all(self._options.subscription)
            self._initial = bounds.starting(self._view, self._options.starting, self._found.places)
            self._remember_ids(self._initial)
        return self._initial

    def prepare_available_now(self) -> None:
        """The end of the query is where the logs end when it first looks."""
        self._available_now = True

    # The end of the next batch

    def latest(self, start: Offsets, *, rows: int | None = None, may_wait: bool = False) -> Offsets:
        """`rows`: about so many at most. `may_wait`: `start` again, where too little has come."""
        if self._target is None:
            latest = self.latest_seen = self._look(start)
            if self._available_now:
                self._target = latest
        else:
            latest = self._target
        may_wait = may_wait and not self._available_now  # for what may never come
        return self._limited(start, latest, rows, may_wait) if rows is not None or may_wait else latest

    def _limited(self, start: Offsets, latest: Offsets, rows: int | None, may_wait: bool) -> Offsets:
        valid = self._still_valid(start)
        begin_of_new = self._view.earliest(place for place in latest if place not in valid)
        if may_wait and self._delay.holds_back(backlog(valid, latest, begin_of_new)):
            return start
        return latest if rows is None else admit(valid, latest, begin_of_new, rows)

    def _look(self, start: Offsets) -> Offsets:
        topics = {place.topic for place in start}
        self._found = self._view.find(self._options.subscription, expected=topics)
        self._remember_ids(start)
        latest = self._view.latest(self._found.places, known=self._still_valid(start))
        if self._options.fail_on_data_loss:
            report(self._losses(start, latest), fails=True)
        return latest

    def _remember_ids(self, offsets: Offsets) -> None:
        """Of topics that are new to us: a restart knows no others than those that it finds."""
        assert self._found is not None
        for topic in {place.topic for place in offsets}:
            if topic in self._found.topic_ids:
                self._read_ids.setdefault(topic, self._found.topic_ids[topic])

    def _still_valid(self, start: Offsets) -> Offsets:
        """Without those of topics that were made anew: they begin again."""
        anew = self._made_anew()
        return {place: offset for place, offset in start.items() if place.topic not in anew} if anew else start

    def _made_anew(self) -> frozenset[str]:
        assert self._found is not None
        ids = self._found.topic_ids
        return frozenset(topic for topic, read in self._read_ids.items() if ids.get(topic, read) != read)

    # The tasks of a batch

    def tasks(self, start: Offsets, end: Offsets) -> list[FetchTask]:
        """Of the batch from `start` to `end`, which may have been chosen in an earlier life of the query. Spark may ask
        more than once, and has to get the same: a topic made anew begins again only the first time."""
        if start == end:
            return []
        if self._planned is None or self._planned[:2] != (start, end):
            self._planned = start, end, self._plan(start, end)
        return self._planned[2]

    def _plan(self, start: Offsets, end: Offsets) -> list[FetchTask]:
        if self._found is None:
            self._found = self._view.find(self._options.subscription, expected={place.topic for place in start})
            self._remember_ids(start)
        ranges = self._ranges(start, end)
        ended = {place.topic for place in end}
        self._read_ids |= {topic: topic_id for topic, topic_id in self._found.topic_ids.items() if topic in ended}
        options = self._options
        cut = split(ranges, options.min_partitions, options.max_records_per_partition)
        return fetch_tasks(options, cut, self._found.topic_ids)

    def _ranges(self, start: Offsets, end: Offsets) -> list[OffsetRange]:
        fails = self._options.fail_on_data_loss
        report(self._losses(start, end), fails=fails)
        valid = self._still_valid(start)
        begins = self._view.earliest(place for place in end if place not in valid)
        report(self._late_beginnings(start, end, begins), fails=fails)
        begins |= valid
        return [OffsetRange(place, begins[place], end[place]) for place in sorted(end) if place in begins]

    def _losses(self, start: Offsets, end: Offsets) -> list[DataLoss]:
        """What `start` has, and the cluster has no more."""
        anew = self._made_anew()
        lost = [p for p, wanted in start.items() if p not in end or end[p] < wanted or p.topic in anew]
        first = self._view.earliest(place for place in lost if place in end) if lost else {}
        losses = []
        for place in sorted(lost):
            there = (min(first.get(place, end[place]), end[place]), end[place]) if place in end else None
            losses.append(DataLoss(place.topic, place.partition, start[place], there, self._reason(place.topic)))
        return losses

    def _reason(self, topic: str) -> str:
        """Where it is known."""
        assert self._found is not None
        if topic in self._made_anew():
            return "the topic was deleted and made anew"
        is_read = topic in self._found.topic_ids or topic in self._found.missing
        return "" if is_read else "the query does not read this topic any more"

    def _late_beginnings(self, start: Offsets, end: Offsets, begins: Offsets) -> list[DataLoss]:
        """Partitions that are new to the query, and have lost their first records already, or are gone again."""
        reason = "the partition is new to the query, and its first records are gone"
        new = [place for place in sorted(end) if place not in start]
        return [
            DataLoss(place.topic, place.partition, 0, (begins[place], end[place]) if place in begins else None, reason)
            for place in new
            if begins.get(place) != 0
        ]
