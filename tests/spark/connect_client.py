"""A client of Spark Connect, without a JVM: run as a program, it reads, writes and streams on the server at `port`.

    python -m tests.spark.connect_client <port> <bootstrap> <input> <output> <several> <updates> <ledger> <checkpoints>

Prints a line of JSON with what it got to see.
"""

import json
import sys
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pyspark_tidelog import start_updates
from pyspark_tidelog.sink.foreach import write_exactly_once

FORMAT = "tidelog"


def main(
    port: str, bootstrap: str, read: str, written: str, several: str, updates: str, ledger: str, checkpoints: str
) -> None:
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    server = {"kafka.bootstrap.servers": bootstrap}
    rows = spark.range(90).selectExpr("cast(id AS string) AS key", "concat('row ', id) AS value")
    rows.write.format(FORMAT).mode("append").options(**server, topic=read, ledgerTopic=ledger).save()
    found = spark.read.format(FORMAT).options(**server, subscribe=read, columns="value,offset").load()
    print(
        json.dumps(
            {
                "columns": found.columns,
                "values": sorted(bytes(row.value).decode() for row in found.collect()),
                "is_remote": "connect" in type(spark).__module__,
                "error": error_of(spark, server),
            }
        )
    )
    streaming = spark.readStream.format(FORMAT).options(**server, subscribe=read, startingOffsets="earliest").load()
    copying = streaming.select("key", "value").writeStream.format(FORMAT).options(**server, topic=written)
    finish(copying.option("ledgerTopic", ledger), f"{checkpoints}/copy")

    def to_several(batch: DataFrame, batch_id: int) -> None:
        options = {"kafka.bootstrap.servers": bootstrap, "ledgerTopic": ledger}
        named = {"query_id": f"{several}-query", "checkpoint": f"{checkpoints}/several"}
        write_exactly_once({several: batch.select("value")}, batch_id, options, **named)

    finish(streaming.writeStream.foreachBatch(to_several), f"{checkpoints}/several")
    lengths = streaming.selectExpr("cast(length(value) AS string) AS key").groupBy("key").count()
    counted = lengths.selectExpr("key", "cast(count AS string) AS value")
    options = {**server, "topic": updates, "ledgerTopic": ledger, "checkpointLocation": f"{checkpoints}/updates"}
    start_updates(
        counted.writeStream.trigger(availableNow=True), options, query_id=f"{updates}-query"
    ).awaitTermination()


def finish(writing: Any, checkpoint: str) -> None:
    query = writing.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    failure = query.exception()
    if failure is not None:
        raise failure


def error_of(spark: SparkSession, server: dict[str, str]) -> str:
    try:
        spark.read.format(FORMAT).options(**server, subscribe="x", startingOfsets="earliest").load().collect()
    except PySparkException as refused:
        return str(refused)
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
