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
    """The reason why Apache Kafka can not run here."""


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a file lock of the system, because test workers are processes and some things are made once for all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch_jars() -> Path:
    """Return the directory of the jars, fetching them first if need be. `.complete` is written last, so a fetch that
    was cut off, or that was of another list of jars, is done again."""
    if shutil.which("java") is None:
        raise ApacheMissing("there is no `java` on the path")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidelog" / f"kafka-{VERSION}"
    with exclusive(cache.with_suffix(".lock")):
        complete = cache / ".complete"
        if not complete.exists() or complete.read_bytes() != POM.read_bytes():
            archive_path(cache).unlink(missing_ok=True)  # its classes are of other jars
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
    """Return where the archive of the jars' classes is, if it exists (class_archive.py)."""
    return jars.parent / f"{jars.name}-classes.jsa"


def archive_options(jars: Path) -> list[str]:
    """Return the options by which a JVM uses the class archive; its class path must begin with the jars. A JVM that can
    not use the archive does not say so on standard output."""
    archive = archive_path(jars)
    return ["-Xshare:auto", "-Xlog:disable", f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []


def java_command(jars: Path, main_class: str, *arguments: str, jvm: Sequence[str] = ()) -> list[str]:
    """Return a command with a small heap and a quick start, since these programs live for seconds. `jvm` are options
    that replace those of the class archive."""
    options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *(jvm or archive_options(jars))]
    logging = f"-Dlog4j2.configurationFile={Path(__file__).parent / 'log4j2.properties'}"
    return ["java", *options, logging, "-cp", f"{jars}/*", main_class, *arguments]


def run_tool(jars: Path, main_class: str, *arguments: str, seconds_max: float = TOOL_SECONDS_MAX) -> tuple[str, str]:
    """Run a tool and return its standard output and standard error; fail when the tool fails or takes too long."""
    command = java_command(jars, main_class, *arguments)
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=seconds_max)
    assert outcome.returncode == 0, outcome.stdout[-2000:] + outcome.stderr[-2000:]
    return outcome.stdout, outcome.stderr
