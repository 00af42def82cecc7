"""What a streaming query reads next: from which offset, up to which, in which tasks. Spark's reader is a thin shell
around it.

The rules are those of Spark's connector: a query starts where its options say, once; partitions that are new start at
their beginning; those that are gone, and logs that end before the offset that the query has reached, are data loss. One
thing more is noticed: a topic that was deleted and made anew has another id, even where its log is as long as the old
one by now. That is data loss as well, and the topic is read from its beginning where the query may go on. This process
knows the ids; over a restart they are known where the query keeps them in a file (`topicIdsFile`).

Losses are found when the end of a batch is chosen, before Spark has written it down (a batch that cannot be read would
fail the query again at every restart), and again when it is planned: a restart plans batches that were chosen before.
"""

import time
from collections.abc import Callable

from pyspark_tidelog.errors import DataLoss
from pyspark_tidelog.kafka.cluster import ClusterView, Found
from pyspark_tidelog.kafka.offsets import Offsets
from pyspark_tidelog.source import bounds
from pyspark_tidelog.source.data_loss import report
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.kept_topic_ids import KeptTopicIds
from pyspark_tidelog.source.options import SourceOptions
from pyspark_tidelog.source.planning import OffsetRange, admit, backlog, split
from pyspark_tidelog.source.tasks import fetch_tasks
from pyspark_tidelog.source.time_bound import TimeBound
from pyspark_tidelog.source.trigger_delay import TriggerDelay
from tidelog.model.ids import Uuid


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def wall_ms() -> int:
    return time.time_ns() // 1_000_000


class StreamPlan:
    """The plan of one run of a streaming query: the end of its next batch, and the tasks of each batch."""

    def __init__(self, options: SourceOptions, view: ClusterView, now_ms: Callable[[], int] = monotonic_ms) -> None:
        self._options = options
        self._view = view
        self._found: Found | None = None  # the topics as of the last look at the cluster
        self._read_ids: dict[str, Uuid] = {}  # ids of the topics that the offsets of the query belong to
        ids_file = options.topic_ids_file
        self._kept_ids = None if ids_file is None else KeptTopicIds(ids_file)
        self._initial: Offsets | None = None
        self._available_now = False
        self._target: Offsets | None = None  # where a query with Trigger.AvailableNow ends
        self._delay = TriggerDelay(options.min_offsets_per_trigger, options.max_trigger_delay_ms, now_ms)
        span_ms = options.max_time_per_trigger_ms
        self._time_bound = None if span_ms is None else TimeBound(span_ms, view.at_times, wall_ms)
        self._planned: tuple[Offsets, Offsets, list[FetchTask]] | None = None  # the last batch
        self.latest_seen: Offsets | None = None  # the ends of the logs, however much of them a batch may read

    def initial(self) -> Offsets:
        """Return the offsets that the query starts at. Spark asks once in a query's life, before there is a
        checkpoint."""
        if self._initial is None:
            self._found = self._view.find_all(self._options.subscription)
            self._initial = bounds.starting(self._view, self._options.starting, self._found.topic_partitions)
            self._remember_ids(self._initial)
            if self._kept_ids is not None:
                self._kept_ids.keep(self._ids_of(self._initial))
        return self._initial

    def finished(self, end: Offsets) -> None:
        """Keep the topic ids of the batch that ended at `end` and is done. For a batch that this process has not
        planned, the ids that it was read from are not known."""
        if self._kept_ids is not None and self._planned is not None and self._planned[1] == end:
            self._kept_ids.keep(self._ids_of(end))

    def prepare_available_now(self) -> None:
        """Have the query end where the logs end when it first looks at them."""
        self._available_now = True

    # The end of the next batch

    def latest(self, start: Offsets, *, rows: int | None = None, may_wait: bool = False) -> Offsets:
        """Return the end of the next batch. `rows`: the batch has about so many records at most. `may_wait`: return
        `start` where fewer records wait than `minOffsetsPerTrigger`."""
        if self._target is None:
            latest = self.latest_seen = self._look(start)
            if self._available_now:
                self._target = latest
        else:
            latest = self._target
        if rows is None and not may_wait:
            return latest
        may_wait = may_wait and not self._available_now  # records that come later are not read any more
        return self._limited(start, latest, rows, may_wait)

    def _limited(self, start: Offsets, latest: Offsets, rows: int | None, may_wait: bool) -> Offsets:
        valid = self._still_valid(start)
        begin_of_new = self._view.earliest(
            topic_partition for topic_partition in latest if topic_partition not in valid
        )
        if may_wait and self._delay.holds_back(backlog(valid, latest, begin_of_new)):
            return start
        if self._time_bound is not None:
            latest = self._time_bound.end(begin_of_new | valid, latest)
        return latest if rows is None else admit(valid, latest, begin_of_new, rows)

    def _look(self, start: Offsets) -> Offsets:
        """Return where the logs end now. Raise DataLoss where the query must not go on."""
        self._recall_ids(start)
        latest = self._ends_of_found_topics(start)
        if self._options.fail_on_data_loss:
            report(self._losses(start, latest), fails=True)
        return self._other_than(start, latest)

    def _ends_of_found_topics(self, start: Offsets) -> Offsets:
        """Find the topics, and return the ends of exactly these.

        Offsets are asked for by name. A topic that is made anew between the two questions would lend its offsets to the
        old one, and its own first records would be passed over. So an end counts only when the same topics are found
        before and after it. The find of the trigger before serves as the one before: a trigger costs two questions.
        """
        is_fresh = self._found is None
        before = self._found or self._find(start)
        while True:
            latest = self._view.latest(before.topic_partitions, known=self._still_valid(start) if is_fresh else None)
            found = self._find(start)
            is_same = (found.topic_ids, found.topic_partitions) == (before.topic_ids, before.topic_partitions)
            if is_same and (is_fresh or not _is_behind(latest, start)):
                return latest
            before, is_fresh = found, True

    def _find(self, start: Offsets) -> Found:
        self._found = self._view.find(
            self._options.subscription, expected={topic_partition.topic for topic_partition in start}
        )
        self._remember_ids(start)
        return self._found

    def _other_than(self, start: Offsets, latest: Offsets) -> Offsets:
        """Return `latest`, or one record less where it equals `start` although a topic was made anew.

        Spark runs no batch that ends where it starts. The new topic, as long as the old one was, would not be read
        before more is written to it. With one record less Spark runs a batch, and the record is part of the next one.
        """
        unread = [
            topic_partition
            for topic_partition in latest
            if topic_partition.topic in self._made_anew() and latest[topic_partition] > 0
        ]
        if not unread or latest != start:
            return latest
        return {**latest, unread[0]: latest[unread[0]] - 1}

    def _recall_ids(self, start: Offsets) -> None:
        """Load the ids that an earlier life of the query has kept, before the first look at the cluster."""
        if self._kept_ids is not None and self._found is None:
            self._read_ids = self._kept_ids.load(start)

    def _ids_of(self, offsets: Offsets) -> dict[str, Uuid]:
        topics = {topic_partition.topic for topic_partition in offsets}
        return {topic: read for topic, read in self._read_ids.items() if topic in topics}

    def _remember_ids(self, offsets: Offsets) -> None:
        """Remember the ids of topics that the query has no id for. After a restart without kept ids, the ids found then
        are taken for those that the offsets belong to."""
        assert self._found is not None
        for topic in {topic_partition.topic for topic_partition in offsets}:
            if topic in self._found.topic_ids:
                self._read_ids.setdefault(topic, self._found.topic_ids[topic])

    def _still_valid(self, start: Offsets) -> Offsets:
        """Return the offsets without those of topics that were made anew, which are read from their beginning."""
        anew = self._made_anew()
        return (
            {topic_partition: offset for topic_partition, offset in start.items() if topic_partition.topic not in anew}
            if anew
            else start
        )

    def _made_anew(self) -> frozenset[str]:
        assert self._found is not None
        ids = self._found.topic_ids
        return frozenset(topic for topic, read in self._read_ids.items() if ids.get(topic, read) != read)

    # The tasks of a batch

    def tasks(self, start: Offsets, end: Offsets) -> list[FetchTask]:
        """Return the tasks of the batch from `start` to `end`, which may have been chosen in an earlier run of the
        query. Spark may ask more than once, and has to get the same tasks: a topic made anew begins again only the
        first time."""
        if start == end:
            return []
        if self._planned is None or self._planned[:2] != (start, end):
            self._planned = start, end, self._plan(start, end)
        return self._planned[2]

    def _plan(self, start: Offsets, end: Offsets) -> list[FetchTask]:
        if self._found is None:
            self._recall_ids(start)
        found = self._found or self._find(start)
        ranges = self._ranges(start, end)
        former = self._ids_of(start)
        ended = {topic_partition.topic for topic_partition in end}
        self._read_ids |= {topic: topic_id for topic, topic_id in found.topic_ids.items() if topic in ended}
        if self._kept_ids is not None:
            self._kept_ids.plan(former, end, self._ids_of(end))
        options = self._options
        cut = split(ranges, options.min_partitions, options.max_records_per_partition)
        return fetch_tasks(options, cut, found.topic_ids, self._view.leader)

    def _ranges(self, start: Offsets, end: Offsets) -> list[OffsetRange]:
        fails = self._options.fail_on_data_loss
        report(self._losses(start, end), fails=fails)
        valid = self._still_valid(start)
        begins = self._view.earliest(topic_partition for topic_partition in end if topic_partition not in valid)
        report(self._late_beginnings(start, end, begins), fails=fails)
        begins |= valid
        return [
            OffsetRange(topic_partition, begins[topic_partition], end[topic_partition])
            for topic_partition in sorted(end)
            if topic_partition in begins
        ]

    def _losses(self, start: Offsets, end: Offsets) -> list[DataLoss]:
        """Return a loss for each partition of `start` that is gone, ends before `start`, or is of a topic made anew."""
        anew = self._made_anew()
        lost = [p for p, wanted in start.items() if p not in end or end[p] < wanted or p.topic in anew]
        first = (
            self._view.earliest(topic_partition for topic_partition in lost if topic_partition in end) if lost else {}
        )
        losses = []
        for topic_partition in sorted(lost):
            there = (
                (min(first.get(topic_partition, end[topic_partition]), end[topic_partition]), end[topic_partition])
                if topic_partition in end
                else None
            )
            losses.append(
                DataLoss(
                    topic_partition.topic,
                    topic_partition.partition,
                    start[topic_partition],
                    there,
                    self._reason(topic_partition.topic),
                )
            )
        return losses

    def _reason(self, topic: str) -> str:
        """Return why records of a topic are lost, where it is known; otherwise ""."""
        assert self._found is not None
        if topic in self._made_anew():
            return "the topic was deleted and made anew"
        is_read = topic in self._found.topic_ids or topic in self._found.missing
        return "" if is_read else "the query does not read this topic any more"

    def _late_beginnings(self, start: Offsets, end: Offsets, begins: Offsets) -> list[DataLoss]:
        """Return a loss for each partition that is new to the query and has lost its first records already, or is gone
        again."""
        reason = "the partition is new to the query, and its first records are gone"
        new = [topic_partition for topic_partition in sorted(end) if topic_partition not in start]
        return [
            DataLoss(
                topic_partition.topic,
                topic_partition.partition,
                0,
                (begins[topic_partition], end[topic_partition]) if topic_partition in begins else None,
                reason,
            )
            for topic_partition in new
            if begins.get(topic_partition) != 0
        ]


def _is_behind(latest: Offsets, start: Offsets) -> bool:
    """Tell whether a log seems to end before the offset that the query has reached."""
    return any(end < start.get(topic_partition, 0) for topic_partition, end in latest.items())
