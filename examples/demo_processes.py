"""The two programs that the demo runs beside the broker, each with a log of its own to look into when it fails."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

JAVA_MIN = 17
LOG_LINES_SHOWN = 25
LOG_LINE_MAX = 300
COMPLAINTS = ("ecommerce:", "tidelog:", "Traceback")
PATIENCE_S = 30.0
# The JVM's first compiler only: with both, on two cores, most of the first half minute goes into compiling what runs a
# few times. For a job that runs for days the second one pays.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto"


class Child:
    """A child process, ended with its `with` block if it has not ended by itself. Ctrl-C is not for it: we decide who
    ends when."""

    def __init__(
        self, name: str, arguments: Sequence[str], directory: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start the process; `environment` is added to ours."""
        self.name = name
        self._environment = environment or {}
        self._log_path = directory / f"{name}.log"
        self._command = [sys.executable, "-m", *arguments]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        # Workers of Spark run this Python, whatever `python3` is called on the path.
        python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        environment = {**os.environ, **python, **self._environment}
        with self._log_path.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def code(self) -> int | None:
        """The exit code; None while the process runs."""
        assert self._process is not None
        return self._process.poll()

    @property
    def has_failed(self) -> bool:
        return self.code not in (None, 0)

    def stop(self) -> None:
        """Stop the process in order, and if that takes too long, at once, with all that it started."""
        assert self._process is not None
        if self.code is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def last_words(self) -> str:
        """Return the end of the log from where the process began to complain, if that can be told; Spark's plans, pages
        of them, come behind that."""
        lines = self._log_path.read_text(errors="replace").splitlines()
        begins = [n for n, line in enumerate(lines) if line.startswith(COMPLAINTS)]
        first = begins[-1] if begins else max(0, len(lines) - LOG_LINES_SHOWN)
        return "\n".join(line[:LOG_LINE_MAX] for line in lines[first : first + LOG_LINES_SHOWN]) or "(nothing)"

    def keep_log(self) -> Path:
        """Move the log out of the demo's directory, which is removed: somebody has to read it."""
        kept = Path(tempfile.gettempdir()) / f"tidelog-demo-{self.name}.log"
        return Path(shutil.copy(self._log_path, kept))


def quick_java() -> dict[str, str]:
    """Return the environment of a JVM that is to be there soon; what the user has set counts more."""
    return {"JDK_JAVA_OPTIONS": f"{QUICK_JVM} {os.environ.get('JDK_JAVA_OPTIONS', '')}".strip()}


def quick_workers(directory: Path) -> dict[str, str]:
    """Return the environment of a Spark whose Python workers start sooner: a home in `directory`, without
    `pyspark.zip`. Spark has its workers import PySpark from that file where there is one, and Python compiles what
    it imports from a zip anew in every process, of which there are a dozen. Without it they import the installed
    package."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        return {}  # a job of another kind may do without
    home = directory / "spark-home"
    home.mkdir()
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(spec.origin).parent / name)
    return {"SPARK_HOME": str(home)}


def missing_for_spark() -> str | None:
    """Return what has to be installed before the pipeline can run, in a sentence; None where nothing has to be."""
    if find_spec("pyspark") is None:
        return "PySpark is not installed: pip install 'tidelog[spark]'"
    java = java_version()
    if java is None:
        return f"there is no Java, which Spark needs: install a JDK of version {JAVA_MIN} or newer, or set JAVA_HOME"
    if java < JAVA_MIN:
        return f"Java is of version {java}; Spark needs {JAVA_MIN} or newer: install one, or set JAVA_HOME"
    return None


def java_version() -> int | None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True)
    return parsed_java_version(said.stderr) if said.returncode == 0 else None


def parsed_java_version(text: str) -> int | None:
    """Return the version of Java in a text like `openjdk version "17.0.9" 2023-10-17`; before 9 it was `java version
    "1.8.0_392"`."""
    _, quote, rest = text.partition('"')
    parts = rest.split('"')[0].replace("-", ".").split(".")
    numbers = [int(part) for part in parts if part.isdigit()]
    if not quote or not numbers:
        return None
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
