"""Spark's own Kafka connector, fetched once by Maven into the cache: what our source and sink are compared with.

Its token provider is of an earlier version, because that is the newest that Maven Central has.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pyspark
from tests.interop.apache.jars import FETCH_SECONDS_MAX, ApacheMissing, exclusive

CONNECTOR_OF = "4.2."  # its classes need those of this Spark
ARTIFACTS = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)


def cache_directory() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidelog"


def why_no_connector() -> str | None:
    """What stands in the way of comparing with it; None where nothing does."""
    if not pyspark.__version__.startswith(CONNECTOR_OF):
        return f"it is for Spark {CONNECTOR_OF}x, and this is {pyspark.__version__}"
    try:
        connector_jars()
    except ApacheMissing as missing:
        return str(missing)
    return None


def connector_jars() -> list[Path]:
    directory = cache_directory() / "spark-connector-4.2.0"
    jars = [directory / f"{name}-{version}.jar" for _, name, version in (each.split(":") for each in ARTIFACTS)]
    with exclusive(directory.with_suffix(".lock")):
        for artifact, jar in zip(ARTIFACTS, jars, strict=True):
            if not jar.exists():
                _fetch(artifact, directory)
    return jars


def _fetch(artifact: str, directory: Path) -> None:
    if shutil.which("mvn") is None:
        raise ApacheMissing("there is no `mvn` on the path, and Spark's connector has not been fetched before")
    command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={directory}"]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
    except subprocess.TimeoutExpired as late:
        raise ApacheMissing(f"Maven took more than {FETCH_SECONDS_MAX} s for {artifact}") from late
    if outcome.returncode:
        raise ApacheMissing(f"Maven could not fetch {artifact}: {(outcome.stdout + outcome.stderr)[-500:]}")
