"""Choose versions anew and pin them by hash, for every platform and Python at once.

The pins carry no address, so the same file serves a mirror. uv is used only here, from a throw-away environment.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {
    "requirements/dev.txt": ["pyproject.toml", "--extra", "dev"],
    # In the same .venv, before or after the packages above: the same versions.
    "requirements/demo.txt": [
        "pyproject.toml",
        "--extra",
        "spark",
        "requirements/demo.in",
        "-c",
        "requirements/dev.txt",
    ],
    "requirements/spark.txt": ["pyproject.toml", "--extra", "spark"],
    "requirements/spark-4.1.txt": ["requirements/spark-4.1.in"],  # the suite runs on each minor version that is allowed
    "requirements/console.txt": ["pyproject.toml", "--extra", "console"],
    "requirements/wheel.txt": ["requirements/wheel.in"],
}


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "venv", scratch], check=True)
        python = f"{scratch}/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", "uv"], check=True)
        compile_command = [python, "-m", "uv", "pip", "compile", "--universal", "--generate-hashes"]
        compile_command += ["--python-version", "3.11", "--upgrade", "--quiet", "--no-header"]
        for output, sources in LOCKS.items():
            subprocess.run([*compile_command, *sources, "-o", output], check=True, cwd=ROOT)
            print(f"wrote {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
