"""Spark in the right environment: what `tidelog spark-shell` and `tidelog spark-submit` have in common.

What goes wrong by hand: workers that run another Python than the driver (PYSPARK_PYTHON), a SPARK_HOME of another
release that happens to be set, no Java or too old a one, and settings that are off unless one knows of them. The
process becomes Spark's own (exec): signals, terminal and exit code are Spark's.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from tidelog.cli.arguments.parsers import pair
from tidelog.cli.failing import CommandFailed

INSTALL: Final = "pip install 'tidelog[spark]'"
JAVA_MIN: Final = 17
JAVA_TIMEOUT_S: Final = 30
JAVA_STEP: Final = (
    "install it (apt install openjdk-17-jre-headless, brew install openjdk@17), and set JAVA_HOME if need be"
)
# Arrow checks the bounds of every value that the JVM reads of a batch, and asks a second time whether it is null; the
# batches are our own, and Spark has asked. The `defaultJavaOptions` stand before the extra ones, which stay the user's.
UNCHECKED: Final = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
DEFAULTS: Final = {
    "spark.driver.defaultJavaOptions": UNCHECKED,
    "spark.executor.defaultJavaOptions": UNCHECKED,
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
PASSED_ON: Final = {
    "--master": ("URL", "local[2], local[*], spark://HOST:PORT, yarn, k8s://...; unless told, local[*]"),
    "--deploy-mode": ("MODE", "client or cluster: where the driver runs"),
    "--name": ("NAME", "of the application"),
    "--driver-memory": ("SIZE", "such as 2g"),
    "--executor-memory": ("SIZE", "such as 4g"),
    "--executor-cores": ("N", "cores of an executor"),
    "--num-executors": ("N", "executors, on YARN and Kubernetes"),
    "--total-executor-cores": ("N", "cores of all executors, on a standalone cluster"),
    "--packages": ("COORDINATES", "jars from Maven, GROUP:ARTIFACT:VERSION, with commas between"),
    "--jars": ("JARS", "jars, with commas between"),
    "--py-files": ("FILES", "Python files and archives for the executors, with commas between"),
    "--files": ("FILES", "files for the directories that executors work in"),
    "--properties-file": ("FILE", "settings, instead of those in conf/spark-defaults.conf"),
    "--remote": ("URL", "of a Spark Connect server, such as sc://localhost"),
}


class SparkCommand(NamedTuple):
    program: str
    arguments: list[str]
    environment: dict[str, str]  # the variables that are added to ours


def add_options(parser: argparse.ArgumentParser) -> None:
    for flag, (value, text) in PASSED_ON.items():
        parser.add_argument(flag, metavar=value, help=text)
    parser.add_argument(
        "--conf", metavar="KEY=VALUE", type=pair, action="append", default=[], help="any setting of Spark"
    )
    parser.add_argument("--dry-run", action="store_true", help="print the command instead of running it")
    parser.add_argument("--json", action="store_true", help="print it as a JSON object instead of running it")


def run(program: str, options: argparse.Namespace, more: Sequence[str]) -> int:
    """Become `bin/PROGRAM` of the PySpark of this Python, or print the command that would."""
    command = spark_command(program, options, more, os.environ)
    if options.json:
        print(json.dumps({"command": [command.program, *command.arguments], "environment": command.environment}))
    elif options.dry_run:
        named = [f"{name}={text}" for name, text in command.environment.items()]
        print(shlex.join(["env", *named, command.program, *command.arguments]))
    else:
        require_java(os.environ)
        sys.stdout.flush()
        os.execve(command.program, [command.program, *command.arguments], {**os.environ, **command.environment})
    return 0


def spark_command(
    program: str, options: argparse.Namespace, more: Sequence[str], environment: Mapping[str, str]
) -> SparkCommand:
    home = spark_home()
    arguments: list[str] = []
    for flag in PASSED_ON:
        value = getattr(options, flag.removeprefix("--").replace("-", "_"))
        if value is not None:
            arguments += [flag, value]
    settled = {name for name, _ in options.conf} | set(configured(home, options.properties_file, environment))
    defaults = [(name, text) for name, text in DEFAULTS.items() if name not in settled]
    for name, text in [*defaults, *options.conf]:
        arguments += ["--conf", f"{name}={text}"]
    added = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    if "PYSPARK_DRIVER_PYTHON" not in environment:  # ipython, say
        added["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return SparkCommand(str(home / "bin" / program), [*arguments, *more], added)


def spark_home() -> Path:
    """Return the directory of the PySpark that this Python would import, without importing it."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise CommandFailed(f"PySpark is not installed for {sys.executable}\nto install it: {INSTALL}")
    if find_spec("pyarrow") is None:
        raise CommandFailed(
            f"PySpark is there, but pyarrow is not installed for {sys.executable}\nto install it: {INSTALL}"
        )
    home = Path(found.origin).parent
    if not (home / "bin" / "spark-submit").exists() or not (home / "jars").is_dir():
        raise CommandFailed(f"{home} is a client of Spark Connect, without Spark itself\nto install Spark: {INSTALL}")
    return home


def configured(home: Path, properties_file: str | None, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of settings that the user's own files have. An option on the command line would win over them."""
    directory = Path(environment.get("SPARK_CONF_DIR") or home / "conf")
    path = directory / "spark-defaults.conf" if properties_file is None else Path(properties_file)
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        if properties_file is not None:
            raise CommandFailed(f"--properties-file: there is no {path}", 2) from None
        return
    for line in lines:
        if line.strip() and not line.lstrip().startswith(("#", "!")):
            yield re.split(r"[\s=:]", line.strip(), maxsplit=1)[0]


def require_java(environment: Mapping[str, str]) -> None:
    home = environment.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java") if home else shutil.which("java", path=environment.get("PATH"))
    if java is None:
        where = f"no bin/java in JAVA_HOME ({home})" if home else "no `java` in PATH, and JAVA_HOME is not set"
        raise CommandFailed(f"Spark needs Java, and there is {where}\n{JAVA_STEP}")
    version = java_version(java)
    if version is not None and version < JAVA_MIN:
        problem = f"Spark needs Java {JAVA_MIN} or later, and {java} is Java {version}"
        raise CommandFailed(f"{problem}\n{JAVA_STEP}")


def java_version(java: str) -> int | None:
    """Return the major version; None where Java does not say one that we understand, which is for Spark to judge."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=JAVA_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise CommandFailed(f"{java} does not run: {error}") from None
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return int(match[1]) if match else None
