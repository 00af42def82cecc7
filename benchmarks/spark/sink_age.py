"""The exactly-once sink of a query that has run for long: does a commit cost more the older the query is?

Tasks and commits are driven as Spark drives them, without Spark: one query through all its batches, then by turns with
queries that have just begun. The machine and the broker are the same for both then; only the age is not. The first
batch of a run, which tidies up after the one before, is not counted.
"""

import statistics
import time
import uuid

from tests.spark.sink_driving import Run, rows

from benchmarks.harness import console
from benchmarks.spark.bench import SparkBench
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client

TASKS = 1
YOUNG_QUERIES = 20
BATCHES_EACH = 10
BAR = 1.1
TOLD_EVERY = 2_000


def age(bench: SparkBench) -> None:
    bootstrap, topic = bench.broker.bootstrap, "sink-age"
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(topic, TASKS))
    options = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "ledgerTopic": "sink-age-ledger"}
    old = Run(options, str(uuid.uuid4()))
    aged = [_batch(old, batch_id) for batch_id in range(bench.sizes.aged_batches)]
    at_old: list[float] = []
    at_young: list[float] = []
    for number in range(YOUNG_QUERIES):
        young = Run(options, str(uuid.uuid4()))
        _batch(young, 0)
        for batch_id in range(1, BATCHES_EACH + 1):
            at_young.append(_batch(young, batch_id))
            at_old.append(_batch(old, bench.sizes.aged_batches + number * BATCHES_EACH + batch_id))
    ratio = statistics.median(at_old) / statistics.median(at_young)
    what = f"exactly-once commit, batch {bench.sizes.aged_batches:,} against batch 1"
    held = bench.scores.at_most(what, ratio, BAR, "x")
    sizes = [1e3 * statistics.median(each) for each in (at_young, at_old, aged[1:201], aged[-200:])]
    text = "{}: {:.2f} ms young, {:.2f} ms old by turns; of the old one {:.2f} ms at first, {:.2f} ms at last. {}"
    console.print(text.format(what, *sizes, held))


def _batch(run: Run, batch_id: int) -> float:
    """Write and commit a batch; return how many seconds the commit took."""
    if batch_id and batch_id % TOLD_EVERY == 0:
        console.print(f"[dim]batch {batch_id:,}[/]")
    messages = [run.write(batch_id, task, [rows(b"%d-%d" % (batch_id, task))]) for task in range(TASKS)]
    began = time.perf_counter()
    run.commit(messages, batch_id)
    return time.perf_counter() - began
