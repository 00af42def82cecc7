"""kcat, where this machine has it: the tool that people reach for first."""

import shutil
import subprocess

import pytest

TIMEOUT_S = 30


@pytest.fixture
def kcat() -> str:
    found = shutil.which("kcat") or shutil.which("kafkacat")
    if found is None:
        pytest.skip("KCAT DID NOT RUN, IT IS NOT INSTALLED HERE")
    return found


def run(*command: str, text: str = "") -> str:
    outcome = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def test_lines_go_in_and_come_out(kcat: str, bootstrap: str, topic: str) -> None:
    lines = "".join(f"key-{number}:value {number}\n" for number in range(20))
    run(kcat, "-b", bootstrap, "-P", "-t", topic, "-p", "0", "-K", ":", "-z", "lz4", text=lines)
    assert run(kcat, "-b", bootstrap, "-C", "-q", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-K", ":") == lines
    assert f'topic "{topic}" with 1 partitions' in run(kcat, "-b", bootstrap, "-L")
