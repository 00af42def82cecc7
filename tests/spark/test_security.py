"""Spark with Apache Kafka over SASL and TLS: read by tasks, written exactly once, and refused with the option named."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.interop.apache.jars import ApacheMissing, fetch_jars
from tests.interop.apache.secured import PASSWORD, SecuredNode, jaas, secured_node
from tests.spark.rows import OURS, create

WAIT_S = 120


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    try:
        jars = fetch_jars()
    except ApacheMissing as missing:
        pytest.skip(f"APACHE KAFKA DID NOT RUN, SPARK WITH ITS SECURITY IS NOT TESTED: {missing}")
    with secured_node(jars, tmp_path_factory.mktemp("secured")) as found:
        yield found


def options(node: SecuredNode, listener: str, mechanism: str = "", **changes: str) -> dict[str, str]:
    settings = {"bootstrap.servers": node.address(listener), **node.settings(listener, mechanism, **changes)}
    return {f"kafka.{name}": value for name, value in settings.items()}


def written_and_read(spark: SparkSession, topic: str, given: dict[str, str], checkpoint: Path) -> DataFrame:
    """In a batch, and from there in a stream to a second topic, exactly once."""
    rows = spark.range(1_000).selectExpr("cast(id as string) as value")
    rows.write.format(OURS).options(**given).option("topic", topic).mode("append").save()
    reading = spark.readStream.format(OURS).options(**given).option("startingOffsets", "earliest")
    writing = reading.option("subscribe", topic).load().select("value").writeStream.format(OURS).options(**given)
    writing = writing.option("topic", f"{topic}-copy").option("deliveryGuarantee", "exactly-once")
    query = writing.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination(WAIT_S)
    reader = spark.read.format(OURS).options(**given).option("kafka.isolation.level", "read_committed")
    return reader.option("subscribe", f"{topic}-copy").load()


@pytest.mark.parametrize(("listener", "mechanism"), [("SASL_SSL", "SCRAM-SHA-512"), ("MUTUAL", "")])
def test_what_is_written_is_read(
    spark: SparkSession, node: SecuredNode, tmp_path: Path, listener: str, mechanism: str
) -> None:
    topic = f"of-{listener}"
    for name in (topic, f"{topic}-copy"):
        create(node.plain, name, 2, 1)
    found = written_and_read(spark, topic, options(node, listener, mechanism), tmp_path / "checkpoint")
    assert sorted(int(row.value) for row in found.select("value").collect()) == list(range(1_000))


def test_a_wrong_password_is_said_first_and_not_shown(spark: SparkSession, node: SecuredNode) -> None:
    create(node.plain, "shut", 1, 1)
    given = options(node, "SASL_SSL", "PLAIN", sasl_jaas_config=jaas("PLAIN", PASSWORD + "!"))
    with pytest.raises(Exception, match="SASL_AUTHENTICATION_FAILED") as told:
        spark.read.format(OURS).options(**given).option("subscribe", "shut").load().collect()
    assert "sasl.jaas.config" in str(told.value)
    assert PASSWORD not in str(told.value)
