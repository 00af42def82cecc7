"""Who runs the same job: Spark's own connector as it comes, the same one tuned, and ours.

The connector's defaults cost it half its speed, so a figure is given against both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession

DEFAULT, TUNED, OURS = "official", "official, tuned", "tidelog"
TUNING: Final = {
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": "8388608",
    "kafka.receive.buffer.bytes": "4194304",
}


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    form: str
    options: Mapping[str, str] = field(default_factory=dict)

    def batch(self, spark: SparkSession, bootstrap: str, topic: str, **options: str) -> DataFrame:
        reader = spark.read.format(self.form).option("kafka.bootstrap.servers", bootstrap)
        return reader.options(subscribe=topic, **self.options, **options).load()

    def stream(self, spark: SparkSession, bootstrap: str, topic: str, **options: str) -> DataFrame:
        reader = spark.readStream.format(self.form).option("kafka.bootstrap.servers", bootstrap)
        return reader.options(subscribe=topic, startingOffsets="earliest", **self.options, **options).load()


CONTENDERS: Final = (
    Contender(DEFAULT, "kafka"),
    Contender(TUNED, "kafka", TUNING),
    Contender(OURS, "tidelog"),
)
