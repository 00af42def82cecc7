"""A Spark session for tests: small, quick to start, and with our source found by its name, as for a user.

The JVM's classes come from an archive (AppCDS) that the first run leaves in the cache: it starts in a third of the
time. Spark's own Kafka connector is on the class path, because tests compare with it. Where it can not be had the
session starts without, and those tests are skipped (fixture `official_connector`).
"""

import os
import sys
import time
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession
from tests.interop.apache.jars import exclusive
from tests.spark.connector_jars import cache_directory, connector_jars, why_no_connector

from tidelog.cli.spark.environment import UNCHECKED

# The compiler that is quick, not the one that is good; one collector thread: two cores are shared with brokers.
# Arrow as `tidelog spark-submit` sets it.
JVM = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto {UNCHECKED}"
# A JVM that was killed writes no archive: after this another one may.
MAKING_S_MAX = 1800
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.sql.python.filterPushdown.enabled": "true",
}


def environment() -> None:
    """Workers run the Python of the tests, whatever the path says."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def session(scratch: Path, master: str = "local[2]", jvm: str = "", **settings: str) -> SparkSession:
    """`jvm`: options instead of the ones that start quickly."""
    environment()
    builder = SparkSession.builder.master(master).appName("tidelog tests")
    named = {name.replace("_", "."): value for name, value in settings.items()}
    given = {**SETTINGS, **connector_settings(), "spark.sql.warehouse.dir": str(scratch), **named}
    for name, value in given.items():
        builder = builder.config(name, value)
    builder = builder.config(
        "spark.driver.extraJavaOptions", f"{jvm or JVM + ' ' + _archive()} -Dderby.system.home={scratch}"
    )
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def connector_settings() -> dict[str, str]:
    return {} if why_no_connector() else {"spark.jars": ",".join(map(str, connector_jars()))}


def _archive() -> str:
    """Read where it is there; else written when this JVM ends, by one process of those that run at the same time."""
    archive = cache_directory() / f"spark-{pyspark.__version__}-{sys.platform}.jsa"
    if archive.exists():
        return f"-XX:SharedArchiveFile={archive}"
    with exclusive(archive.with_suffix(".lock")):
        marker = archive.with_suffix(".being-made")
        if marker.exists() and time.time() - marker.stat().st_mtime < MAKING_S_MAX:
            return ""
        marker.touch()
    return f"-XX:ArchiveClassesAtExit={archive}"
