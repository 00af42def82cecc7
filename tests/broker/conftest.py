"""A real node in a process of its own: one for each xdist worker, on a port that the system chose.

A test here fails when the node does not answer; it is never skipped. `bootstrap` is its address as clients take it,
`topic` a name that no other test of the run uses.
"""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

READY = re.compile(r"ready on (\S+)")
START_S_MAX = 30
STOP_S_MAX = 30


@contextlib.contextmanager
def running_node(*arguments: str) -> Iterator[str]:
    """`tidelog dev` with these arguments; gives its address, and stops it in order at the end."""
    command = [str(Path(sys.executable).parent / "tidelog"), "dev", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def _address(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if match := READY.search(line):
            host, _, port = match[1].rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), START_S_MAX).close()
            return match[1]
    pytest.fail("the node did not start; it said:\n" + "".join(said))


@pytest.fixture(scope="session")
def bootstrap() -> Iterator[str]:
    with running_node("--ephemeral") as address:
        yield address


@pytest.fixture
def topic() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"
