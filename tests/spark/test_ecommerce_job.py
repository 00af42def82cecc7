"""The job's queries from topic to topic: run, run again on the same checkpoint, and replay what is committed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark import ecommerce_purchases

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.metadata.configs import ResourceType
from tidelog_pipelines.ecommerce import job
from tidelog_pipelines.ecommerce.result_topics import ensure_topics
from tidelog_pipelines.ecommerce.results import RESULTS
from tidelog_pipelines.ecommerce.session import NEEDED
from tidelog_pipelines.ecommerce.settings import Settings
from tidelog_pipelines.traffic.answers import Answers
from tidelog_pipelines.traffic.generator import Plan
from tidelog_pipelines.traffic.results import ResultReader
from tidelog_pipelines.traffic.sending import Sending
from tidelog_pipelines.traffic.truth import Truth

pytestmark = pytest.mark.early

START_MS = 1_790_000_000_000


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[SparkSession]:
    """The session as the job would have it."""
    names = [name for name in NEEDED if spark.conf.isModifiable(name)]
    before = {name: spark.conf.get(name) for name in names}
    for name in names:
        spark.conf.set(name, NEEDED[name])
    yield spark
    for name in names:
        spark.conf.set(name, str(before[name]))


@pytest.fixture
def settings(bootstrap: str, kafka_topic_prefix: str, tmp_path: Path) -> Settings:
    return Settings(
        bootstrap,
        str(tmp_path / "checkpoint"),
        str(tmp_path / "lake"),
        events_prefix=f"{kafka_topic_prefix}e-",
        results_prefix=f"{kafka_topic_prefix}r-",
        is_available_now=True,
        max_offsets=1_500,
        believes_producers=True,  # about minutes that pass in a moment
    )


def send(settings: Settings, truth: Truth, *, seed: int, start_ms: int, count: int) -> None:
    plan = Plan(seed, start_ms, rate=1e6, speed=5e4, events=count)  # all at once, as if it were some minutes
    with Client(settings.bootstrap) as client:
        Sending(client, plan, prefix=settings.events_prefix, truth=truth).run(lambda _sent: None)


def run(spark: SparkSession, settings: Settings) -> None:
    assert ecommerce_purchases.run(*job.start(spark, settings)) == 0


def found(settings: Settings, truth: Truth) -> Answers:
    with Client(settings.bootstrap) as client:
        reader = ResultReader(client, settings.results_prefix)
        reader.read_to_end()
    assert reader.state.faults == []
    return reader.state.answers(dict(truth.records))


@pytest.mark.usefixtures("limits")
def test_results_are_the_truth_over_restarts_and_replays(rocksdb: SparkSession, settings: Settings) -> None:
    truth = Truth()
    ensure_topics(settings, RESULTS)
    ensure_topics(settings, RESULTS)  # what is there stays
    send(settings, truth, seed=1, start_ms=START_MS, count=2_000)
    run(rocksdb, settings)
    assert found(settings, truth) == truth.answers()

    send(settings, truth, seed=2, start_ms=START_MS + 60_000, count=1_000)
    for query in ("results", "dead_letters"):
        commits = Path(settings.checkpoint_of(query)) / "commits"
        last = max((each for each in commits.iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
        last.unlink()  # as if the driver had died between the sink's commit and Spark's
        (commits / f".{last.name}.crc").unlink(missing_ok=True)
    run(rocksdb, settings)
    assert found(settings, truth) == truth.answers()

    assert settings.archive is not None
    archived = rocksdb.read.parquet(settings.archive)
    assert archived.count() == archived.select("topic", "partition", "offset").distinct().count() == 3_000


def test_result_topics_are_compacted_and_dead_letters_are_not(settings: Settings) -> None:
    ensure_topics(settings, RESULTS)
    with Client(settings.bootstrap) as client:
        made = {each.name for each in Admin(client).list_topics()}
        policies = {result: policy(client, settings.results_prefix + result) for result in (*RESULTS, "dead_letters")}
    assert set(settings.topics.all) <= made
    assert policies == {**dict.fromkeys(RESULTS, "compact"), "dead_letters": "delete"}


def policy(client: Client, topic: str) -> str | None:
    return Admin(client).describe_configs(ResourceType.TOPIC, topic)["cleanup.policy"].value
