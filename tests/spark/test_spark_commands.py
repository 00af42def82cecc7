"""`tidelog spark-submit` as a user types it: a job finds the source, the settings and the Python of this command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.test_lake import produce

JOB = """\
import json
import sys

from pyspark.sql import SparkSession

bootstrap, topic = sys.argv[1:]
with SparkSession.builder.getOrCreate() as spark:
    read = spark.read.format("tidelog").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    runs = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    unchecked = spark._jvm.java.lang.System.getProperty("arrow.enable_unsafe_memory_access")
    pushes = spark.conf.get("spark.sql.python.filterPushdown.enabled")
    found = {"rows": read.where("partition = 1").count(), "workers": runs, "unchecked": unchecked, "pushes": pushes}
    print("FOUND", json.dumps(found))
"""


@pytest.mark.long
def test_a_job(bootstrap: str, topic: str, tmp_path: Path) -> None:
    produce(bootstrap, topic, range(100))
    job = tmp_path / "job.py"
    job.write_text(JOB)
    options = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    command = [sys.executable, "-m", "tidelog", "spark-submit", *options, str(job), bootstrap, topic]
    # What is often set, and wrong.
    environment = {**os.environ, "SPARK_HOME": "/opt/no-spark", "PYSPARK_PYTHON": "python-of-another-time"}
    environment.pop("PYSPARK_DRIVER_PYTHON", None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.rpartition("FOUND")[2])
    assert 0 < found.pop("rows") < 100
    assert found == {"workers": [sys.executable], "unchecked": "true", "pushes": "true"}
