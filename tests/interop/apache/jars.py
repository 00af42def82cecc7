"""Apache Kafka's jars, fetched once by Maven into a cache outside the repository, and Java to run them."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

POM = Path(__file__).parent / "pom.xml"
VERSION = "4.3.1"
FETCH_SECONDS_MAX = 300
TOOL_SECONDS_MAX = 60


class ApacheMissing(Exception):
    """What stands in the way of running Apache Kafka here."""


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Test workers are processes: what is made once is made under a lock of the system's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch_jars() -> Path:
    """The directory with the jars; `.complete` is written last, so a fetch that was cut off, or was of another list of
    jars, is done again."""
    if shutil.which("java") is None:
        raise ApacheMissing("there is no `java` on the path")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidelog" / f"kafka-{VERSION}"
    with exclusive(cache.with_suffix(".lock")):
        complete = cache / ".complete"
        if not complete.exists() or complete.read_bytes() != POM.read_bytes():
            archive_path(cache).unlink(missing_ok=True)  # of other jars
            _run_maven(cache)
            complete.write_bytes(POM.read_bytes())
    return cache


def _run_maven(cache: Path) -> None:
    if shutil.which("mvn") is None:
        raise ApacheMissing("there is no `mvn` on the path, and the jars have not been fetched before")
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={cache}"]
    command = ["mvn", "-q", "-B", "-f", str(POM), *goal]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
    except subprocess.TimeoutExpired as late:
        raise ApacheMissing(f"Maven took more than {FETCH_SECONDS_MAX} s") from late
    if outcome.returncode:
        raise ApacheMissing(f"Maven could not fetch the jars: {(outcome.stdout + outcome.stderr)[-500:]}")


def archive_path(jars: Path) -> Path:
    """Where the archive of their classes is, if there is one (class_archive.py)."""
    return jars.parent / f"{jars.name}-classes.jsa"


def archive_options(jars: Path) -> list[str]:
    """For a JVM whose class path begins with the jars. It does not tell on standard output that it can not use them."""
    archive = archive_path(jars)
    return ["-Xshare:auto", "-Xlog:disable", f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def java_command(jars: Path, main_class: str, *arguments: str, jvm: Sequence[str] = ()) -> list[str]:
    """Small heap, quick start: these programs live for seconds. `jvm`: options in the place of the class archive."""
    options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *(jvm or archive_options(jars))]
    logging = f"-Dlog4j2.configurationFile={Path(__file__).parent / 'log4j2.properties'}"
    return ["java", *options, logging, "-cp", f"{jars}/*", main_class, *arguments]


def run_tool(jars: Path, main_class: str, *arguments: str) -> tuple[str, str]:
    """What the tool printed, on standard output and as errors; it fails here when the tool failed."""
    command = java_command(jars, main_class, *arguments)
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_SECONDS_MAX)
    assert outcome.returncode == 0, outcome.stdout[-2000:] + outcome.stderr[-2000:]
    return outcome.stdout, outcome.stderr
