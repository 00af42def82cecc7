from pathlib import Path

import pytest

from tidelog.cli.failing import WrongUsage
from tidelog.cli.main import main
from tidelog.cli.server_properties import read_config
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
    read_config(str(file), {"num.partitionz": "1"})
    assert sorted(line.split(": ")[1] for line in capsys.readouterr().err.splitlines()) == [
        "--override", f"{file}:7", f"{file}:8",
    ]  # fmt: skip


def test_bytes_are_read_as_java_reads_them(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(b"broker.rack=r\xe9\n")
    assert read_config(str(file), {}).get(node.BROKER_RACK) == "ré"


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", "/nowhere/server.properties"]) == 2
    assert capsys.readouterr().err.startswith("tidelog: /nowhere/server.properties: No such file")


def test_a_node_that_is_not_formatted_says_how(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start", str(file)]) == 1
    assert "`tidelog format`" in capsys.readouterr().err
