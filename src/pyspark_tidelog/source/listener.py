"""`pyspark_tidelog.listen(spark)`: the offsets of finished batches go to the group of `commitOffsetsToGroup` at once.

A stream reader commits them itself, without a listener, when Spark next asks it for offsets: some milliseconds later
while the query runs, but never when the query is stopped, or ends after one batch (`Trigger.Once`). A session that
wants the last batch of those committed too has a listener, which runs where the session is. The reader cannot register
one: it lives in a process of its own that has no session.

A listener is not told the options of a query's sources, so they are read from the query's plan. Spark Connect does not
show the plan: there `listen(spark, options)` names them.
"""

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.listener import StreamingQueryListener

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.kafka.settings import ClusterOptions, cluster_options
from pyspark_tidelog.source.group_commits import GroupCommits
from pyspark_tidelog.source.progress import parse_reported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )
    from pyspark.sql.streaming.query import StreamingQuery

LOGGER: Final = logging.getLogger("pyspark_tidelog")
OPTION: Final = "commitOffsetsToGroup"
SETTLE_S: Final = 30.0
LOOK_S: Final = 0.02


class Target(NamedTuple):
    cluster: ClusterOptions
    group_id: str


class Targets(Protocol):
    def started(self, query_id: str) -> None:
        """Note a query that has started. It has no plan yet, but it can be found now: a short query may be gone when
        its progress is reported."""

    def ended(self, query_id: str) -> None: ...

    def of(self, query_id: str) -> Mapping[str, Target]:
        """Return the cluster and group that the offsets of each of a query's sources go to, by the sources'
        descriptions; "" stands for any other source."""


def listen(spark: "SparkSession", options: Mapping[str, str] | None = None) -> "GroupCommitListener":
    """Add a listener to the session that commits the offsets of finished batches, and return it. `options`: those of
    the source, for all queries of the session (`kafka.bootstrap.servers`, `commitOffsetsToGroup`); without them each
    query's own are found. Its `settle` waits for the last commit of a query that has ended;
    `spark.streams.removeListener` ends it."""
    listener = GroupCommitListener(_Plans(spark) if options is None else _Given(options))
    spark.streams.addListener(listener)
    return listener


class GroupCommitListener(StreamingQueryListener):
    def __init__(self, targets: Targets) -> None:
        self._targets = targets
        self._queries: dict[str, Mapping[str, Target]] = {}  # by the id of a run
        self._commits: dict[tuple[str, Target], GroupCommits] = {}
        self._ended: set[str] = set()  # ids of runs

    def settle(self, query: "StreamingQuery", timeout_s: float = SETTLE_S) -> bool:
        """Wait until Spark has told of a query's end and its last offsets are committed; return False if that takes
        longer than `timeout_s`. A commit that the coordinator refuses is logged, as at any other time. A program that
        is about to end, or to remove the listener, calls this: Spark tells of a query's end only after
        `awaitTermination`."""
        until = time.monotonic() + timeout_s
        while str(query.runId) not in self._ended:
            if time.monotonic() >= until:
                return False
            time.sleep(LOOK_S)
        return True

    def onQueryStarted(self, event: "QueryStartedEvent") -> None:
        self._targets.started(str(event.id))

    def onQueryProgress(self, event: "QueryProgressEvent") -> None:
        run_id = str(event.progress.runId)
        if run_id not in self._queries:
            self._queries[run_id] = self._targets.of(str(event.progress.id))
        targets = self._queries[run_id]
        for source in event.progress.sources:
            target = targets.get(source.description, targets.get(""))
            offsets = parse_reported(source.endOffset)
            if target is not None and offsets:
                self._of(run_id, target).finished(offsets)

    def onQueryIdle(self, event: "QueryIdleEvent") -> None:
        pass

    def onQueryTerminated(self, event: "QueryTerminatedEvent") -> None:
        run_id = str(event.runId)
        self._targets.ended(str(event.id))
        self._queries.pop(run_id, None)
        for key in [key for key in self._commits if key[0] == run_id]:
            self._commits.pop(key).close()
        self._ended.add(run_id)

    def _of(self, run_id: str, target: Target) -> GroupCommits:
        if (run_id, target) not in self._commits:
            self._commits[run_id, target] = GroupCommits(*target)
        return self._commits[run_id, target]


class _Given:
    """The targets where `listen` was given options: one for all sources of all queries."""

    def __init__(self, options: Mapping[str, str]) -> None:
        group_id = CaseInsensitiveDict(options).get(OPTION)
        if not group_id:
            raise OptionError(OPTION, "is missing", "name the group that offsets are to be committed to")
        self._target = Target(cluster_options(options), group_id)

    def started(self, _query_id: str) -> None:
        pass

    def ended(self, _query_id: str) -> None:
        pass

    def of(self, _query_id: str) -> Mapping[str, Target]:
        return {"": self._target}


class _Plans:
    """The targets that the queries' own plans name, found through the JVM and interfaces that Spark does not guarantee.
    Where that fails, the reader's own commits remain."""

    def __init__(self, spark: "SparkSession") -> None:
        if not hasattr(spark, "_jsparkSession"):
            raise OptionError(OPTION, "Spark Connect does not show the plan of a query", "give `listen` the options")
        self._streams = spark._jsparkSession.streams()
        self._queries: dict[str, Any] = {}

    def started(self, query_id: str) -> None:
        self._queries[query_id] = self._streams.get(query_id)

    def ended(self, query_id: str) -> None:
        self._queries.pop(query_id, None)

    def of(self, query_id: str) -> Mapping[str, Target]:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        try:
            query = self._queries.get(query_id) or self._streams.get(query_id)
            leaves = query.streamingQuery().logicalPlan().collectLeaves()
            return dict(filter(None, (_target_of(leaves.apply(index)) for index in range(leaves.size()))))
        except (Py4JError, AttributeError, TypeError) as error:
            LOGGER.warning("the listener can not see the sources of query %s: %s", query_id, error)
            return {}


def _target_of(leaf: Any) -> tuple[str, Target] | None:
    relation = getattr(leaf, "relation", None)
    if relation is None or not leaf.getClass().getSimpleName().startswith("StreamingDataSourceV2"):
        return None
    options = relation().options()
    group_id = options.get(OPTION)
    if group_id is None:
        return None
    given = {str(name): str(text) for name, text in options.asCaseSensitiveMap().items()}
    return str(leaf.stream().toString()), Target(cluster_options(given), str(group_id))
