import json
from pathlib import Path

import pytest

from tidelog.cli.main import main
from tidelog.config import parse_properties
from tidelog.model.ids import parse_uuid

TEXT = """\
process.roles=broker,controller
node.id=7
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:9093
log.dirs={root}/a,{root}/b
"""
STATIC = "controller.quorum.voters=7@localhost:9093\n"
DYNAMIC = "controller.quorum.bootstrap.servers=localhost:9093\n"


def write(root: Path, quorum: str) -> str:
    path = root / "server.properties"
    path.write_text(TEXT.format(root=root) + quorum)
    return str(path)


def properties(directory: Path) -> dict[str, str]:
    return parse_properties((directory / "meta.properties").read_text())


def test_a_uuid_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["random-uuid"]) == 0
    assert main(["random-uuid", "--json"]) == 0
    plain, as_json = capsys.readouterr().out.splitlines()
    assert parse_uuid(plain) != parse_uuid(json.loads(as_json)["uuid"])


def test_every_log_directory_is_formatted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["format", "-t", "some-cluster", "-c", write(tmp_path, STATIC), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["formatted"] == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert said["features"]["metadata.version"] == 30
    for name in "ab":
        found = properties(tmp_path / name)
        assert (found["cluster.id"], found["node.id"]) == ("some-cluster", "7")


def test_what_is_formatted_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["format", "-t", "some-cluster", "-c", write(tmp_path, STATIC)]
    assert main(arguments) == 0
    before = properties(tmp_path / "a")
    assert main(arguments) == 1
    assert "--ignore-formatted" in capsys.readouterr().err
    assert main([*arguments, "--ignore-formatted"]) == 0
    assert "left alone" in capsys.readouterr().out
    assert properties(tmp_path / "a") == before


def test_the_flags_of_the_quorum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, DYNAMIC)
    assert main(["format", "-t", "c", "-c", file]) == 1
    assert "--standalone" in capsys.readouterr().err
    assert main(["format", "-t", "c", "-c", file, "--standalone"]) == 0
    snapshots = list((tmp_path / "a/__cluster_metadata-0").glob("*.checkpoint"))
    assert len(snapshots) == 1
    assert b"localhost" in snapshots[0].read_bytes() or b"127.0.0.1" in snapshots[0].read_bytes()


def test_release_and_features(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, STATIC)
    assert main(["format", "-t", "c", "-c", file, "-r", "9.9"]) == 1
    assert main(["format", "-t", "c", "-c", file, "-r", "3.9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["features"]["metadata.version"] == 21


@pytest.mark.parametrize("feature", ["metadata.version", "metadata.version=four", "=4"])
def test_a_feature_has_a_level(tmp_path: Path, feature: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["format", "-t", "c", "-c", write(tmp_path, STATIC), "-f", feature])
    assert not (tmp_path / "a").exists()


def test_a_quorum_that_no_start_would_serve_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several = "controller.quorum.voters=6@localhost:9092,7@localhost:9093\n"
    assert main(["format", "-t", "c", "-c", write(tmp_path, several)]) == 2
    said = capsys.readouterr().err
    assert "names 2 voters" in said
    assert "set controller.quorum.voters=7@localhost:9093" in said
    voters = ",".join(f"{each}@localhost:9093:{'A' * 21}{each}" for each in (6, 7))
    assert main(["format", "-t", "c", "-c", write(tmp_path, DYNAMIC), "--initial-controllers", voters]) == 2
    assert "format with --standalone" in capsys.readouterr().err
    assert main(["format", "-t", "c", "-c", write(tmp_path, DYNAMIC), "--no-initial-controllers"]) == 2
    said = capsys.readouterr().err
    assert "--no-initial-controllers leaves it to other voters" in said
    assert "format with --standalone" in said
    assert not (tmp_path / "a").exists()
    assert main(["format", "-t", "c", "-c", write(tmp_path, STATIC), "--no-initial-controllers"]) == 0
