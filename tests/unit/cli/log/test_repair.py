"""`tidelog log repair` as a process sees it: a real directory, standard output, an exit code."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.sim.broker import T0, batch_of, topic_config

from tidelog.cli.main import main
from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import Uuid
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.log import Log
from tidelog.storage.segment.descriptors import Descriptors


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a log of three batches that was stopped in order; a bit of the second has rotted since."""
    fs = PosixFileSystem()
    logs = Logs(LogContext(Descriptors(fs)), [str(tmp_path / "logs")], lambda _topic: topic_config())
    for _ in logs.load(0):
        pass
    log = logs.create(T0, Uuid(bytes(range(16))), 0)
    assert isinstance(log, Log)
    for i in range(3):
        buffer = memoryview(bytearray(batch_of([b"%d" % i], 5)))
        log.append_as_leader(buffer, 0, len(buffer), 0, 5)
        logs.commit([log], 5)
    logs.close(1, 5)
    fs.close()
    with open(tmp_path / "logs/t-0/00000000000000000000.log", "r+b") as file:
        file.seek(69 + 66)
        file.write(b"!!")
    return tmp_path / "logs"


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def files(directory: Path) -> dict[str, bytes]:
    return {str(each.relative_to(directory)): each.read_bytes() for each in directory.rglob("*") if each.is_file()}


def test_it_shows_and_changes_nothing_unless_told_to(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(directory)
    assert main(["log", "repair", "--json", str(directory)]) == 1
    damage, summary = lines(capsys.readouterr().out)
    assert (damage["kind"], damage["partition"], damage["position"]) == ("damage", "t-0", 69)
    assert (damage["log_end_offset"], damage["recovery_point"], damage["bytes_behind"]) == (1, 3, 138)
    assert summary == {"kind": "summary", "damaged": 1, "repaired": 0}
    assert main(["log", "repair", str(directory)]) == 1
    text = capsys.readouterr().out
    assert "t-0 was durable up to offset 3; whole up to 1; 138 bytes from the damage on" in text
    after = files(directory)
    after.pop(".lock", None), before.pop(".lock", None)
    assert after == before
    assert os.listdir(directory.parent) == ["logs"]


def test_truncate(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = (directory / "t-0/00000000000000000000.log").read_bytes()
    assert main(["log", "repair", "--json", "--truncate", "--partition", "t-0", str(directory)]) == 0
    _, repaired, summary = lines(capsys.readouterr().out)
    quarantine = Path(repaired["quarantine"])
    assert quarantine.parent == Path(f"{directory}-quarantine")
    assert (quarantine / "00000000000000000000.log").read_bytes() == log
    assert (directory / "t-0/00000000000000000000.log").read_bytes() == log[:69]
    assert summary["repaired"] == 1
    assert main(["log", "repair", str(directory)]) == 0
    assert capsys.readouterr().out == "0 damaged, 0 repaired\n"


def test_start_over_also_without_damage_when_it_is_named(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "aside"
    main(["log", "repair", "--truncate", str(directory)])
    assert main(["log", "repair", "--start-over", "--quarantine", str(target), str(directory)]) == 0
    assert (directory / "t-0").is_dir(), "not damaged, and not named"
    command = ["log", "repair", "--start-over", "--partition", "t-0", "--quarantine", str(target), str(directory)]
    assert main(command) == 0
    assert not (directory / "t-0").exists()
    (moved,) = target.iterdir()
    assert (moved / "00000000000000000000.log").stat().st_size == 69


def test_refused_while_a_broker_is_running(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fs = PosixFileSystem()
    lock = fs.lock(str(directory / ".lock"))
    before = files(directory)
    try:
        assert main(["log", "repair", "--json", "--start-over", str(directory)]) == 2
    finally:
        lock.release()
        fs.close()
    (refused,) = lines(capsys.readouterr().out)
    assert "a broker is running on it" in refused["reason"]
    assert str(os.getpid()) in refused["reason"]
    assert files(directory) == before


@pytest.mark.parametrize("arguments", [["--partition", "nonsense"], ["--truncate", "--start-over"]])
def test_nonsense_is_refused(directory: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["log", "repair", *arguments, str(directory)])
    assert end.value.code == 2


def test_a_directory_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "repair", str(tmp_path / "nowhere")]) == 2
    assert "is no directory" in capsys.readouterr().out
