"""The job: topics, a session, the queries, and an orderly end.

A query that fails ends the job with its message: what supervises processes starts it again, and the queries go on from
their checkpoints, without a gap and without a repeat. SIGTERM and Ctrl-C let the batch that is running finish.
"""

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.errors import TidelogError
from tidelog.client.errors import ClientError
from tidelog_pipelines.ecommerce.dropped import DroppedRows
from tidelog_pipelines.ecommerce.settings import Settings, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOG: Final = logging.getLogger("tidelog_pipelines")
LOOK_S: Final = 0.2  # between two looks at the queries
FIRST_BATCH_S_MAX: Final = 60  # that the other queries wait for the first results
BATCH_S_MAX: Final = 20  # that a running batch has to finish in, when the job is told to stop


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job and return its exit code. 0: ended by a signal, or `--available-now` is done; 1: a query failed, rows
    were dropped, or the cluster is out of reach."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it tells of every batch
    settings = parse(arguments)
    try:
        return run(settings)
    except (ClientError, TidelogError) as error:
        print(f"ecommerce: {error}", file=sys.stderr)
        return 1


def run(settings: Settings) -> int:
    from tidelog_pipelines.ecommerce.result_topics import ensure_topics
    from tidelog_pipelines.ecommerce.results import RESULTS
    from tidelog_pipelines.ecommerce.session import start_session

    ensure_topics(settings, RESULTS)  # first, because a cluster out of reach is seen in a second
    spark = start_session(settings)
    try:
        with stop_signal() as is_told:
            return supervise(start(spark, settings, is_told), is_told)
    finally:
        spark.stop()


def unsignalled(seconds: float) -> bool:
    """Sleep, and return that nobody said stop."""
    time.sleep(seconds)
    return False


def start(
    spark: "SparkSession", settings: Settings, is_told: Callable[[float], bool] = unsignalled
) -> list["StreamingQuery"]:
    """Start the queries and return them in the order in which they are to be stopped. They start one after the other:
    each starts a Python process, to which Spark gives ten seconds, and on a busy machine three at once do not make it.
    The results are what people wait for: their first batch, which is slow while the JVM is cold, has the machine to
    itself."""
    from tidelog_pipelines.ecommerce import queries

    started = [wait_for_first_batch(wait_for_sources(queries.start_results(spark, settings)), is_told)]
    started.append(wait_for_sources(queries.start_dead_letters(spark, settings)))
    if settings.archive is not None:
        started.append(wait_for_sources(queries.start_archiving(spark, settings, settings.archive)))
    LOG.info("running: %s", ", ".join(str(query.name) for query in started))
    return started


def wait_for_sources(query: "StreamingQuery") -> "StreamingQuery":
    """Wait until the query has its sources, or has failed."""
    while query.isActive and query.status["message"].startswith("Initializing"):
        time.sleep(0.02)
    return query


def wait_for_first_batch(
    query: "StreamingQuery", is_told: Callable[[float], bool], patience_s: float = FIRST_BATCH_S_MAX
) -> "StreamingQuery":
    """Wait until the query has done its first batch, found nothing to do, or failed, until `patience_s` is over, or
    until somebody says stop."""
    deadline = time.monotonic() + patience_s
    while query.isActive and query.lastProgress is None and time.monotonic() < deadline:
        if is_told(LOOK_S / 10):
            break
    return query


def supervise(started: Sequence["StreamingQuery"], is_told: Callable[[float], bool]) -> int:
    """Wait until all queries have ended, one has failed, or `is_told`, which waits so many seconds for a signal, says
    that one came; then stop them and return the exit code."""
    dropped = [DroppedRows(query) for query in started]
    while any(query.isActive for query in started) and not _failed(started):
        for each in dropped:
            each.follow()
        if is_told(LOOK_S):
            break
    failed = _failed(started)
    for query in started:
        stop(query)
    for query in failed:
        print(f"ecommerce: query {query.name} failed: {query.exception()}", file=sys.stderr)
    rows = sum(each.total() for each in dropped)
    if rows:
        print(f"ecommerce: {rows} rows were dropped at the watermark; the results lack them", file=sys.stderr)
    return 1 if failed or rows else 0


def stop(query: "StreamingQuery") -> None:
    """Stop a query between two batches where possible, because a batch that is interrupted would be done again."""
    deadline = time.monotonic() + BATCH_S_MAX
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.005)
    query.stop()


def _failed(started: Sequence["StreamingQuery"]) -> list["StreamingQuery"]:
    return [query for query in started if not query.isActive and query.exception() is not None]


@contextmanager
def stop_signal() -> Iterator[Callable[[float], bool]]:
    """Yield a function that waits so many seconds for SIGTERM or Ctrl-C and returns whether one came. Enter it after
    the session is there, because pyspark takes Ctrl-C for itself."""
    told = threading.Event()
    before = {number: signal.signal(number, lambda *_: told.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield told.wait
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
