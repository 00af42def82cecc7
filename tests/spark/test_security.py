"""Spark with Apache Kafka over SASL and TLS: read by tasks, written exactly once, and refused with the option named;
and the pipeline, with every connection that it makes."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.interop.apache.class_archive import archived_jars
from tests.interop.apache.jars import ApacheMissing
from tests.interop.apache.secured import PASSWORD, SecuredNode, jaas, secured_node
from tests.spark.ecommerce_purchases import found, purchases, run, send
from tests.spark.rows import OURS, create

from pyspark_tidelog.kafka.settings import cluster_options, fetch_settings
from tidelog_pipelines.ecommerce import job
from tidelog_pipelines.ecommerce.lookback import TopicLog
from tidelog_pipelines.ecommerce.result_topics import ensure_topics
from tidelog_pipelines.ecommerce.results import RESULTS
from tidelog_pipelines.ecommerce.settings import Settings

pytestmark = pytest.mark.early

WAIT_S = 120


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    try:
        jars = archived_jars()
    except ApacheMissing as missing:
        pytest.skip(f"APACHE KAFKA DID NOT RUN, SPARK WITH ITS SECURITY IS NOT TESTED: {missing}")
    with secured_node(jars, tmp_path_factory.mktemp("secured")) as found:
        yield found


def options(node: SecuredNode, listener: str, mechanism: str = "", **changes: str) -> dict[str, str]:
    settings = {"bootstrap.servers": node.address(listener), **node.settings(listener, mechanism, **changes)}
    return {f"kafka.{name}": value for name, value in settings.items()}


def write_and_copy(spark: SparkSession, topic: str, given: dict[str, str], checkpoint: Path) -> None:
    """In a batch, and from there in a stream to a second topic, exactly once."""
    rows = spark.range(1_000).selectExpr("cast(id as string) as value")
    rows.write.format(OURS).options(**given).option("topic", topic).mode("append").save()
    reading = spark.readStream.format(OURS).options(**given).option("startingOffsets", "earliest")
    writing = reading.option("subscribe", topic).load().select("value").writeStream.format(OURS).options(**given)
    writing = writing.option("topic", f"{topic}-copy").option("deliveryGuarantee", "exactly-once")
    query = writing.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination(WAIT_S)


def committed(spark: SparkSession, topic: str, given: dict[str, str]) -> DataFrame:
    reader = spark.read.format(OURS).options(**given).option("kafka.isolation.level", "read_committed")
    return reader.option("subscribe", topic).load()


@pytest.mark.parametrize(("listener", "mechanism"), [("SASL_SSL", "SCRAM-SHA-512"), ("MUTUAL", "")])
def test_what_is_written_is_read(
    spark: SparkSession, node: SecuredNode, tmp_path: Path, listener: str, mechanism: str
) -> None:
    topic = f"of-{listener}"
    for name in (topic, f"{topic}-copy"):
        create(node.plain, name, 2, 1)
    given = options(node, listener, mechanism)
    write_and_copy(spark, topic, given, tmp_path / "checkpoint")
    until = time.monotonic() + WAIT_S
    found: list[int] = []
    # Kafka answers an EndTxn when the outcome is decided, and the markers that show it to readers come after that.
    while len(found) < 1_000 and time.monotonic() < until:
        found = sorted(int(row.value) for row in committed(spark, f"{topic}-copy", given).select("value").collect())
    assert found == list(range(1_000))


def test_a_wrong_password_is_said_first_and_not_shown(spark: SparkSession, node: SecuredNode) -> None:
    create(node.plain, "shut", 1, 1)
    given = options(node, "SASL_SSL", "PLAIN", sasl_jaas_config=jaas("PLAIN", PASSWORD + "!"))
    with pytest.raises(Exception, match="SASL_AUTHENTICATION_FAILED") as told:
        spark.read.format(OURS).options(**given).option("subscribe", "shut").load().collect()
    assert "sasl.jaas.config" in str(told.value)
    assert PASSWORD not in str(told.value)


@pytest.fixture
def settings(node: SecuredNode, tmp_path: Path) -> Settings:
    """Of a pipeline on a listener where nothing else gets in."""
    given = tuple(node.settings("SASL_SSL", "SCRAM-SHA-512").items())
    prefix, places = f"{tmp_path.name}-", (str(tmp_path / "state"), str(tmp_path / "lake"))
    return Settings(node.address("SASL_SSL"), *places, prefix, prefix, is_available_now=True, kafka=given)


def test_the_pipeline_makes_its_topics_and_looks_into_the_log(settings: Settings, node: SecuredNode) -> None:
    ensure_topics(settings, RESULTS)
    now_ms = int(time.time() * 1_000)
    sent = send(replace(settings, bootstrap=node.plain), range(now_ms, now_ms + 5))
    log = TopicLog(cluster_options(settings.cluster), fetch_settings(settings.cluster), settings.topics)
    topic = f"{settings.events_prefix}purchase_completed"
    assert len(list(log.ids(topic, 0, 0, sent, now_ms - 60_000))) == sent


@pytest.mark.usefixtures("limits")
@pytest.mark.long
def test_the_queries_of_the_pipeline(spark: SparkSession, settings: Settings, node: SecuredNode) -> None:
    ensure_topics(settings, RESULTS)
    now_ms = int(time.time() * 1_000)
    plain = replace(settings, bootstrap=node.plain)
    sent = send(plain, range(now_ms, now_ms + 5))
    send(plain, [now_ms + 3_600_000])
    assert run(*job.start(spark, settings)) == 0
    answers = found(plain)
    assert (purchases(answers), answers.dead_letters) == (sent, {"in the future": 1})
    assert settings.archive is not None
    assert spark.read.parquet(settings.archive).count() == sent + 1
