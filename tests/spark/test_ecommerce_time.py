"""Times that would have had Spark's watermark drop good events: a partition that was added later and is read from its
beginning, and a producer whose clock is ahead. Nothing is dropped, and what is late or early is a dead letter."""

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.ecommerce_purchases import found, purchases, run, send
from tests.spark.source_steps import add_partitions

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.metadata.configs import ResourceType
from tidelog_pipelines.ecommerce import job
from tidelog_pipelines.ecommerce.queries import start_results
from tidelog_pipelines.ecommerce.result_topics import ensure_topics
from tidelog_pipelines.ecommerce.results import RESULTS
from tidelog_pipelines.ecommerce.settings import Settings
from tidelog_pipelines.traffic.generator import Plan
from tidelog_pipelines.traffic.sending import Sending
from tidelog_pipelines.traffic.truth import Truth

pytestmark = pytest.mark.early

START_MS = 1_789_999_980_000  # a whole minute
MINUTE_MS = 60_000
AHEAD_MS = 56 * MINUTE_MS  # as far as a broker believes a producer, and with a window's end past the hour


@pytest.fixture
def settings(bootstrap: str, kafka_topic_prefix: str, tmp_path: Path) -> Settings:
    return Settings(
        bootstrap,
        str(tmp_path / "checkpoint"),
        events_prefix=f"{kafka_topic_prefix}e-",
        results_prefix=f"{kafka_topic_prefix}r-",
        is_available_now=True,
        max_offsets=6,
    )


def minutes(first: int, end: int) -> Iterable[int]:
    return (START_MS + minute * MINUTE_MS for minute in range(first, end))


@pytest.mark.usefixtures("limits")
def test_a_partition_that_was_added_later(spark: SparkSession, settings: Settings) -> None:
    settings = replace(settings, believes_producers=True)
    ensure_topics(settings, RESULTS)
    sent = send(settings, minutes(0, 5))
    assert run(start_results(spark, settings)) == 0
    add_partitions(settings.bootstrap, f"{settings.events_prefix}purchase_completed", 3)
    sent += send(settings, [*minutes(30, 35), *minutes(90, 100)])
    sent += send(settings, minutes(160, 163), partition=2)  # a third of each backlog: hour 0 here, and hour 2 there
    assert run(start_results(spark, settings)) == 0
    answers = found(settings)
    assert purchases(answers) == sent
    assert answers.sales_5m[START_MS + 90 * MINUTE_MS].purchases == 5


@pytest.mark.usefixtures("limits")
def test_a_producer_whose_clock_is_ahead(spark: SparkSession, settings: Settings) -> None:
    ensure_topics(settings, RESULTS)
    now_ms = int(time.time() * 1_000)
    ahead = send(settings, (now_ms + AHEAD_MS + each for each in range(5)))
    assert run(start_results(spark, settings)) == 0
    now_ms = int(time.time() * 1_000)  # the first run may have taken longer than an event may be late
    good = send(settings, (now_ms + each for each in range(7)), partition=1)
    assert run(*job.start(spark, settings)) == 0
    answers = found(settings)
    assert purchases(answers) == good
    assert answers.dead_letters == {"in the future": ahead}


@pytest.mark.usefixtures("limits")
@pytest.mark.long
def test_rows_that_are_dropped_all_the_same_are_an_error(
    spark: SparkSession, settings: Settings, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Producers that are believed, and should not be."""
    settings = replace(settings, believes_producers=True)
    ensure_topics(settings, RESULTS)
    send(settings, [START_MS + 120 * MINUTE_MS])
    assert run(start_results(spark, settings)) == 0
    send(settings, [START_MS])
    assert run(start_results(spark, settings)) == 1
    assert caplog.text.count("rows were too far behind the watermark") == 1
    assert "rows were dropped at the watermark" in capsys.readouterr().err


# No Spark


def test_topics_with_the_producers_times_are_refused_with_a_way_out(settings: Settings) -> None:
    ensure_topics(replace(settings, believes_producers=True), RESULTS)
    with pytest.raises(ClientError) as refused:
        ensure_topics(settings, RESULTS)
    topic = settings.topics.all[0]
    assert f"tidelog configs set --topic {topic} message.timestamp.type=LogAppendTime" in str(refused.value)
    assert "--producer-times" in str(refused.value)
    with Client(settings.bootstrap) as client:
        for each in settings.topics.all:
            Admin(client).set_configs(ResourceType.TOPIC, each, {"message.timestamp.type": "LogAppendTime"})
    ensure_topics(settings, RESULTS)


@pytest.mark.parametrize(("speed", "truth"), [(1.0, Truth()), (60.0, None)])
def test_traffic_that_would_lose_its_times_is_refused(settings: Settings, speed: float, truth: Truth | None) -> None:
    ensure_topics(settings, RESULTS)
    with Client(settings.bootstrap) as client:
        sending = Sending(client, Plan(1, START_MS, speed=speed, events=10), prefix=settings.events_prefix, truth=truth)
        with pytest.raises(ClientError, match="it would replace the times of the plan by its own"):
            sending.run(lambda _sent: None)
    assert sending.sent == 0
