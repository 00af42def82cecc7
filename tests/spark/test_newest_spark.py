"""The newest PySpark that the extra allows, while the suite runs on the newest that can be compared with Spark's own
connector: source, sink and foreachBatch once. Its workers have what executors have that bring their own PySpark: that,
`tidelog[arrow]` and nothing else. No path leads to its Python."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.bare_environment import bare_environment, link
from tests.spark.sessions import JVM
from tests.spark.sink_driving import values
from tests.spark.source_steps import produce
from tests.spark.spark_releases import ROOT, allowed_minors, installed, locks, pins, release_of

pytestmark = pytest.mark.early

RUN_S_MAX = 300
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": JVM,
}


def test_each_minor_version_that_the_extra_allows_has_its_release_pinned() -> None:
    assert sorted(locks()) == allowed_minors()
    for minor, lock in locks().items():
        assert release_of(lock).startswith(f"{minor}.")
        assert sorted(pins(lock)) == ["py4j", "pyspark"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a shell in which nobody has activated anything."""
    java = shutil.which("java")
    assert java is not None, "Spark needs Java"
    settings = " ".join(f"--conf '{name}={value}'" for name, value in SETTINGS.items())
    kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME", "TIDELOG_PURE") if name in os.environ}
    return {
        **kept,
        "PATH": f"{tmp_path / 'java'}:/usr/bin:/bin",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": f"--master local[2] {settings} pyspark-shell",
    }


def test_the_newest_release_with_arrow_alone_and_a_python_that_is_not_on_the_path(
    bootstrap: str,
    kafka_topic: Callable[..., str],
    kafka_topic_prefix: str,
    tmp_path: Path,
    environment: dict[str, str],
) -> None:
    newest = locks()[allowed_minors()[-1]]
    python = bare_environment(tmp_path / "venv", installed(newest))
    (tmp_path / "java").symlink_to(Path(str(shutil.which("java"))).resolve().parent)
    source, copied = kafka_topic("payments"), kafka_topic("copied")
    produce(bootstrap, source, ["5", "1000", "70"])
    (tmp_path / "driver").mkdir()
    link(tmp_path / "driver", ["pandas"])  # PySpark asks for it on the driver, for whatever is called mapInArrow
    arguments = [bootstrap, kafka_topic_prefix, str(tmp_path), str(tmp_path / "driver")]
    command = [str(python), "-m", "tests.spark.newest_spark", *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=RUN_S_MAX)
    assert ran.returncode == 0, ran.stderr[-5_000:]
    assert json.loads(ran.stdout.rpartition("RAN")[2]) == {
        "pyspark": release_of(newest),
        "workers have pandas": [False],
    }
    assert values(bootstrap, copied) == [b"1000", b"5", b"70"]
    assert values(bootstrap, f"{source}.booked") == [b"1000", b"5", b"70"]
    assert values(bootstrap, f"{source}.alerts") == [b"1000"]
    assert len(list((tmp_path / "lake").glob("*.parquet"))) == 1
