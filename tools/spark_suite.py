"""The whole Spark suite, the long tests too, on each minor version of PySpark that `tidelog[spark]` allows.

Comparisons with Spark's own connector leave themselves out where there is none for the version. A release is installed
into the cache the first time (`tests/spark/spark_releases.py`).

    python -m tools.spark_suite              on all of them
    python -m tools.spark_suite 4.3 -k lake  on one, with more options of pytest
"""

import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from tests.spark.spark_releases import ROOT, allowed_minors, environment_with, locks, release_of

# PySpark 4.1 leaves sockets of its own to the garbage collector, which the suite would take for ours.
QUIET: Final = {"4.1": ["-W", "ignore::pytest.PytestUnraisableExceptionWarning", "-W", "ignore::ResourceWarning"]}


def main(arguments: Sequence[str]) -> int:
    """Run the suite on each version, whatever became of the one before; return 1 where one failed."""
    known = allowed_minors()
    asked = [each for each in arguments if each in known]
    more = [each for each in arguments if each not in known]
    failed = []
    for minor in asked or known:
        lock = locks()[minor]
        print(f"PySpark {release_of(lock)}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile"]
        command += [*QUIET.get(minor, []), *more, "tests/spark"]
        if subprocess.run(command, cwd=ROOT, env=environment_with(lock)).returncode:
            failed.append(release_of(lock))
    if failed:
        print(f"the Spark suite failed on PySpark {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
