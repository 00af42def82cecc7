"""The Spark session of the job: what its queries need, and what they are quicker with.

A setting that the user gives (`--conf`, spark-submit, spark-defaults) wins over ours where ours is a preference; the
time zone, the state store and speculation are no preference: results or guarantees depend on them.
"""

import os
import sys
from typing import Final

from pyspark import SparkConf
from pyspark.sql import SparkSession

from tidelog_pipelines.ecommerce.settings import Settings

_STREAMING: Final = "spark.sql.streaming"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

NEEDED: Final = {
    "spark.sql.session.timeZone": "UTC",  # windows are named by their time
    f"{_STREAMING}.stateStore.providerClass": _ROCKSDB,
    "spark.speculation": "false",  # the exactly-once sink refuses it
}
# As `tidelog spark-submit` has it: the batches are our own, and need no second look at every value.
UNCHECKED: Final = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
PREFERRED: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Only what changed is uploaded with a batch; whole snapshots follow in the background.
    f"{_STREAMING}.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STREAMING}.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # In update mode a batch without data would only advance the watermark.
    f"{_STREAMING}.noDataMicroBatches.enabled": "false",
    "spark.scheduler.mode": "FAIR",  # the results do not wait behind the archive
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:NewRatio=1 {UNCHECKED}",
}


def start_session(settings: Settings) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    given = SparkConf()  # with what spark-submit was told
    for name, value in settings.spark:
        given.set(name, value)
    for name, value in PREFERRED.items():
        given.setIfMissing(name, value)
    for name, value in {**NEEDED, "spark.sql.shuffle.partitions": str(settings.state_partitions)}.items():
        given.set(name, value)
    if settings.master is not None:
        given.setMaster(settings.master)
    given.setIfMissing("spark.master", "local[*]").setIfMissing("spark.app.name", "tidelog e-commerce")
    return SparkSession.builder.config(conf=given).getOrCreate()
