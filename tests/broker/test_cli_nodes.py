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
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.metadata.configs import ResourceType
from tidelog.protocol.messages.describe_quorum import DescribeQuorumRequest

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
    """Run a command that starts a node; yield the JSON it prints when it is ready, and its process."""
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


def test_json_logs_are_json_from_the_first_warning_on(file: Path) -> None:
    file.write_text(f"{file.read_text()}num.io.threads=9\nno.such.setting=1\n")
    command = [TIDELOG, "start", str(file), "--json-logs"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 1
    *lines, reason = outcome.stderr.splitlines()
    assert "format" in reason
    warnings = [each["message"] for each in map(json.loads, lines) if each["level"] == "WARNING"]
    assert any("no.such.setting" in each for each in warnings)
    assert any("num.io.threads" in each for each in warnings)


@pytest.mark.parametrize(("level", "is_told"), [("DEBUG", True), ("INFO", False)])
def test_the_log_level_decides_whether_requests_are_told(tmp_path: Path, level: str, is_told: bool) -> None:
    options = ("--dir", str(tmp_path / "d"), "--port", "0", "--log-level", level, "--json-logs")
    with node("dev", *options) as (ready, process):
        assert main(["topics", "list", "-b", ready["listeners"][0]["bound"]]) == 0
        process.send_signal(signal.SIGTERM)
        lines = [json.loads(each) for each in process.communicate(timeout=STOP_S_MAX)[1].splitlines()]
    assert any(each["level"] == "INFO" for each in lines)
    assert any(each["level"] == "DEBUG" and each.get("api_key") == 3 for each in lines) == is_told


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [TIDELOG, "dev", "--dir", str(tmp_path / "d"), "--port", str(port)]
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 1
    assert f"127.0.0.1:{port}: Address already in use" in outcome.stderr
    assert "--port 0" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def refused(*arguments: str) -> tuple[int, str]:
    outcome = subprocess.run([TIDELOG, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in outcome.stderr
    return outcome.returncode, outcome.stderr


def test_a_metrics_port_that_is_taken_names_its_own_setting(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, said = refused("dev", "--dir", str(tmp_path / "d"), "--port", "0", "--metrics-port", port)
    assert code == 1
    assert f"127.0.0.1:{port}: Address already in use" in said
    assert "choose another port in `metrics.listener`" in said


def test_an_address_of_another_machine_is_said_to_be_one(tmp_path: Path) -> None:
    # 192.0.2.0/24 is kept for documentation: nobody has it.
    code, said = refused("dev", "--dir", str(tmp_path / "d"), "--host", "192.0.2.1", "--port", "0")
    assert code == 1
    assert "it is not an address of this machine; name one that is in `listeners`" in said
    assert "another broker" not in said


def test_the_directory_of_another_node_is_no_damage(file: Path, tmp_path: Path) -> None:
    assert main(["format", "-t", "some-cluster", "-c", str(file)]) == 0
    voters = "controller.quorum.voters=2@localhost:19093"
    code, said = refused("start", str(file), "--override", "node.id=2", "--override", voters)
    assert code == 1
    assert f"node.id=2 is configured, but {tmp_path}/data belongs to node 1; correct node.id" in said
    assert "put back a copy" not in said


def test_several_voters_are_a_wrong_file(file: Path) -> None:
    assert main(["format", "-t", "some-cluster", "-c", str(file)]) == 0
    voters = "controller.quorum.voters=1@localhost:19093,2@localhost:19094"
    code, said = refused("start", str(file), "--override", voters)
    assert code == 2
    assert "name only this node in controller.quorum.voters" in said


def test_a_development_node_with_an_id_of_its_own(tmp_path: Path) -> None:
    directory = str(tmp_path / "d")
    with node("dev", "--dir", directory, "--port", "0", "--override", "node.id=4") as (ready, _process):
        assert ready["node_id"] == 4


def test_an_ephemeral_node_leaves_nothing(tmp_path: Path) -> None:
    with node("dev", "--ephemeral", "--port", "0", directory=tmp_path) as (ready, process):
        (directory,) = ready["log_dirs"]
        assert os.path.isdir(directory)
        process.send_signal(signal.SIGINT)
        assert process.wait(STOP_S_MAX) == 0
    assert not os.path.exists(directory)
    assert list(tmp_path.iterdir()) == []


def test_a_node_in_the_background_stops_on_sigterm(tmp_path: Path) -> None:
    """A shell makes the programs that it starts in the background ignore SIGINT, so SIGTERM has to do."""
    command = ["bash", "-c", 'trap "" INT; exec "$@"', "-", TIDELOG, "dev", "--ephemeral", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["ready"]
        process.terminate()
        assert process.wait(STOP_S_MAX) == 0


def test_the_voter_of_a_development_node_is_where_its_controller_listens(tmp_path: Path) -> None:
    with node("dev", "--ephemeral", "--port", "0", directory=tmp_path) as (ready, _):
        host, _, port = ready["listeners"][0]["bound"].partition(":")
        request = DescribeQuorumRequest(topics=[])
        with Client(f"{host}:{port}") as client:
            (voter,) = client.ask(request, "describe the quorum").nodes
            configs = Admin(client).describe_configs(ResourceType.BROKER, "1")
        (listener,) = voter.listeners
        assert (listener.name, listener.host) == ("CONTROLLER", "127.0.0.1")
        socket.create_connection((listener.host, listener.port), 5).close()
        voters = configs["controller.quorum.voters"].value
        assert voters == f"1@127.0.0.1:{listener.port}"


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
