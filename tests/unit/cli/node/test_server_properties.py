from pathlib import Path

import pytest

from tidelog.cli.failing import WrongUsage
from tidelog.cli.main import main
from tidelog.cli.node.server_properties import read_config
from tidelog.config.settings import node

TEXT = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0
log.dirs={directory}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(TEXT.format(directory=tmp_path / "data"))
    return path


def add(file: Path, text: str) -> None:
    file.write_text(file.read_text() + text)


def test_an_override_wins_without_a_word(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(file, "num.partitions=2\n")
    config = read_config(str(file), {"num.partitions": "3", "node.id": "1"})
    assert config.get(node.NUM_PARTITIONS) == 3
    assert config.get(node.NODE_ID) == 1
    assert capsys.readouterr().err == ""


def test_an_override_does_not_continue_the_last_line(file: Path) -> None:
    add(file, "num.partitions=2\\")
    assert read_config(str(file), {"message.max.bytes": "1000"}).get(node.NUM_PARTITIONS) == 2


def test_everything_that_is_wrong_is_said_at_once(file: Path) -> None:
    add(file, "num.partitions=x\nmessage.max.bytes=-5\n")
    with pytest.raises(WrongUsage) as refused:
        read_config(str(file), {"log.cleaner.threads": "many"})
    lines = str(refused.value).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [f"{file}:7", f"{file}:8", "--override"]
    assert "log.cleaner.threads = many" in lines[2]
    assert refused.value.code == 2


def test_warnings_say_where(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(file, "num.partitons=2\nnum.partitions=2\nnum.partitions=2\n")
    read_config(str(file), {"num.partitions": "1"})
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [f"{file}:7"]
    assert lines[0].endswith("num.partitons: unknown setting; did you mean num.partitions?")


def test_an_override_that_nobody_knows_is_refused_with_the_nearest_name(file: Path) -> None:
    with pytest.raises(WrongUsage) as refused:
        read_config(str(file), {"num.partitons": "1", "zookeeper.connect": "z:2181", "listener.name.plaintext.x": "1"})
    first, second, third = str(refused.value).splitlines()
    assert first == "--override: num.partitons: unknown setting; did you mean num.partitions?"
    assert "--override: zookeeper.connect: no longer a setting" in second
    assert third == "--override: listener.name.plaintext.x: unknown setting"


def test_what_is_ignored_without_harm_is_one_line_and_said_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(file, "num.io.threads=4\nnum.network.threads=2\nreplica.fetch.max.bytes=5\n")
    read_config(str(file), {"background.threads": "3"})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("num.io.threads, num.network.threads, replica.fetch.max.bytes, background.threads")
    read_config(str(file), {"background.threads": "3"}, again=True)
    assert capsys.readouterr().err == ""


def test_what_asks_for_protection_that_is_not_there_is_refused(file: Path) -> None:
    add(file, "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\nsuper.users=User:a\n")
    with pytest.raises(WrongUsage) as refused:
        read_config(str(file), {"listeners": "SASL_SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0"})
    text = str(refused.value)
    assert f"{file}:7: authorizer.class.name = org.apache" in text
    assert f"{file}:8: super.users = User:a: There is no authorizer yet" in text
    assert "--override: listeners = SASL_SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0: listener SASL_SSL is to" in text


def test_bytes_are_read_as_java_reads_them(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"broker.rack=r\xe9\n")
    assert read_config(str(file), {}).get(node.BROKER_RACK) == "ré"


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", "/nowhere/server.properties"]) == 2
    assert capsys.readouterr().err.startswith("tidelog: /nowhere/server.properties: No such file")


@pytest.mark.parametrize("role", ["broker", "controller"])
def test_a_node_that_is_not_its_own_cluster_does_not_start(
    file: Path, role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A controller alone used to register as a broker, at its own listener."""
    of_role = {
        "broker": "listeners=PLAINTEXT://127.0.0.1:0\ncontroller.quorum.voters=2@localhost:9093\n",
        "controller": "listeners=CONTROLLER://127.0.0.1:0\n",
    }
    add(file, f"process.roles={role}\n{of_role[role]}")
    assert main(["format", "-t", "some-cluster", "-c", str(file)]) == 0
    assert main(["start", str(file)]) == 1
    assert f"process.roles={role}: a node is a cluster of its own yet" in capsys.readouterr().err


def test_a_node_that_is_not_formatted_says_how(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", str(file)]) == 1
    assert "`tidelog format`" in capsys.readouterr().err
