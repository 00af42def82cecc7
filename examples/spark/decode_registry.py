"""Values as the serializers of a schema registry frame them: Avro, and Protobuf.

    tidelog spark-submit examples/spark/decode_registry.py --bootstrap-server localhost:9092 --topic orders \\
        --registry http://localhost:8081 --schema order.avsc

The workers ask the registry for the schemas that values were written with, each once. It needs
`pip install 'tidelog[spark,registry]'`.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pyspark_tidelog import Registry, from_avro, from_protobuf


def avro(records: DataFrame, schema: str, url: str) -> DataFrame:
    registry = Registry(url)  # settings of confluent-kafka's client as a second argument
    return records.select("offset", from_avro("value", schema, registry).alias("order"))


def protobuf(records: DataFrame, message: str, descriptor_set: bytes) -> DataFrame:
    order = from_protobuf("value", message, descriptor_set, on_error="null")
    return records.select("offset", order.alias("order"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Show the values of a topic that are Avro.")
    parser.add_argument("--bootstrap-server", default="localhost:9092", help="some brokers of the cluster")
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--registry", default="http://localhost:8081", help="of the schemas")
    parser.add_argument("--schema", type=Path, required=True, help="a file with the reader's Avro schema")
    options = parser.parse_args(arguments)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers: this Python, whatever is on the path
    spark = SparkSession.builder.appName("decode Avro").getOrCreate()
    server = {"kafka.bootstrap.servers": options.bootstrap_server}
    records = spark.read.format("tidelog").options(**server, subscribe=options.topic).load()
    avro(records, options.schema.read_text(), options.registry).show(truncate=False)


if __name__ == "__main__":
    main()
