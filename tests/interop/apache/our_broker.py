"""Our broker on a directory and a server.properties of Apache's broker: `tidelog start`, as an operator would."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.apache.broker import write_properties
from tests.support.ports import held_ports

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 30


@contextmanager
def our_broker(directory: Path) -> Iterator[str]:
    """Run our broker and yield its bootstrap address; SIGTERM must end it with code 0."""
    port, controller_port = held_ports(2)
    properties = write_properties(directory, port, controller_port)
    output = directory.with_suffix(".ours.output")
    command = [str(Path(sys.executable).parent / "tidelog"), "start", str(properties)]
    with output.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        _await_broker(process, port, output)
        yield f"127.0.0.1:{port}"
        process.terminate()
        process.wait(STOP_SECONDS_MAX)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, output.read_text()[-3000:]


def _await_broker(process: "subprocess.Popen[bytes]", port: int, output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert process.poll() is None, output.read_text()[-3000:]
        assert time.monotonic() < deadline, output.read_text()[-3000:]
        time.sleep(0.05)
