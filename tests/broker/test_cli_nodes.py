"""`tidelog format`, `start` and `dev` as processes: from the file to the signal that stops them."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tidelog.cli.main import main

TIDELOG = str(Path(sys.executable).parent / "tidelog")
STOP_S_MAX = 30


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:19093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:0,OTHER://127.0.0.1:0,CONTROLLER://127.0.0.1:0
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={tmp_path}/data
""")
    return path


@contextmanager
def node(*arguments: str, directory: Path | None = None) -> Iterator[tuple[dict[str, Any], "subprocess.Popen[str]"]]:
    """A node that says as JSON that it is ready."""
    command = [TIDELOG, *arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=directory) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            yield json.loads(line), process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(STOP_S_MAX)


def test_format_start_stop(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["format", "-t", "some-cluster", "-c", str(file)]) == 0
    overrides = ["--override", "num.partitions=3", "--override", "advertised.listeners=PLAINTEXT://localhost:1"]
    with node("start", str(file), *overrides) as (ready, process):
        assert (ready["cluster_id"], ready["node_id"], ready["pid"]) == ("some-cluster", 1, process.pid)
        assert {each["name"]: each["told"] for each in ready["listeners"]} == {
            "PLAINTEXT": "localhost:1",
            "OTHER": "",
        }
        other = next(each["bound"] for each in ready["listeners"] if each["name"] == "OTHER")
        assert main(["topics", "create", "t", "-b", other]) == 0
        assert "partitions: 3" in capsys.readouterr().out
        assert _second_start(file) == 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_S_MAX) == 0
    assert (tmp_path / "data/.kafka_cleanshutdown").exists()


def _second_start(file: Path) -> int:
    outcome = subprocess.run([TIDELOG, "start", str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert "is another node running" in outcome.stderr
    assert "Traceback" not in outcome.stderr
    return outcome.returncode


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [TIDELOG, "dev", "--dir", str(tmp_path / "d"), "--port", str(port)]
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 1
    assert f"127.0.0.1:{port}: Address already in use" in outcome.stderr
    assert "--port 0" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_an_ephemeral_node_leaves_nothing(tmp_path: Path) -> None:
    with node("dev", "--ephemeral", "--port", "0", directory=tmp_path) as (ready, process):
        (directory,) = ready["log_dirs"]
        assert os.path.isdir(directory)
        process.send_signal(signal.SIGINT)
        assert process.wait(STOP_S_MAX) == 0
    assert not os.path.exists(directory)
    assert list(tmp_path.iterdir()) == []


def test_what_an_advertised_node_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["dev", "--dir", str(tmp_path / "d"), "--port", "0", "--advertise", "localhost:7"]
    with node(*arguments) as (ready, _process):
        (listener,) = ready["listeners"]
        assert listener["told"] == "localhost:7"


def test_sighup_reads_the_file_again_and_a_wrong_one_changes_nothing(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["format", "-t", "some-cluster", "-c", str(file)]) == 0
    text = file.read_text()
    with node("start", str(file)) as (ready, process):
        assert process.stderr is not None
        (address,) = [each["bound"] for each in ready["listeners"] if each["name"] == "PLAINTEXT"]
        for changed, said in (("log.retention.ms=777", "read again"), ("log.retention.ms=soon", "stay as they are")):
            file.write_text(f"{text}{changed}\n")
            process.send_signal(signal.SIGHUP)
            while said not in process.stderr.readline():
                pass
        capsys.readouterr()
        assert main(["configs", "get", "-b", address, "--broker", "1", "log.retention.ms", "--json"]) == 0
        assert '"777"' in capsys.readouterr().out
        assert process.poll() is None
