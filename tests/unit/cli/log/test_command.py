"""`tidelog log` as a process sees it: a real directory, standard output, an exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.storage.handmade import DATA, healthy, read

from tidelog.cli.main import main
from tidelog.metadata.record_framing import encode_metadata_record
from tidelog.metadata.records.cluster import FeatureLevelRecord
from tidelog.records.builder import BatchBuilder
from tidelog.records.patch import write_crc


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a copy of the handmade directory on a real disk."""
    fs = healthy()
    for name in fs.list_directory(DATA):
        if not fs.stat(f"{DATA}/{name}").is_directory:
            (tmp_path / name).write_bytes(read(fs, f"{DATA}/{name}"))
            continue
        (tmp_path / name).mkdir()
        for file in fs.list_directory(f"{DATA}/{name}"):
            (tmp_path / name / file).write_bytes(read(fs, f"{DATA}/{name}/{file}"))
    return tmp_path


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_dump_as_json(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = directory / "orders-0" / "00000000000000000010.log"
    assert main(["log", "dump", "--json", "--records", str(log)]) == 0
    shown = lines(capsys.readouterr().out)
    assert [each["kind"] for each in shown] == ["batch", *["record"] * 5] * 2
    assert {each["file"] for each in shown} == {str(log)}
    assert (shown[1]["offset"], shown[1]["key"], shown[1]["value"]) == (10, "key-0", "value at 010")


def test_dump_as_a_table(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = directory / "orders-0" / "00000000000000000010.log"
    assert main(["log", "dump", str(log)]) == 0
    path, header, *rows = capsys.readouterr().out.splitlines()
    assert path == str(log)
    assert header.split()[:4] == ["position", "offsets", "records", "bytes"]
    assert [row.split()[1:3] for row in rows] == [["10-14", "5"], ["15-19", "5"]]


def test_a_directory_stands_for_its_files(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "orders-0" / "notes.txt").touch()
    assert main(["log", "dump", "--json", str(directory / "orders-0")]) == 0
    kinds = {each["kind"] for each in lines(capsys.readouterr().out)}
    assert kinds == {
        "batch",
        "offset index entry",
        "time index entry",
        "producer",
        "leader epoch",
        "partition metadata",
    }


@pytest.mark.parametrize("json_flag", [[], ["--json"]])
def test_damage_is_reported_with_its_place_and_exit_code_1(
    directory: Path, capsys: pytest.CaptureFixture[str], json_flag: list[str]
) -> None:
    log = directory / "orders-0" / "00000000000000000010.log"
    log.write_bytes(log.read_bytes()[:-1])
    size = log.stat().st_size // 2 + 1
    assert main(["log", "dump", *json_flag, str(log)]) == 1
    output = capsys.readouterr()
    if json_flag:
        assert lines(output.out)[-1]["position"] == size
    else:
        assert f"error {log} at {size}: a batch of {size} bytes" in output.err


def test_a_missing_file_is_reported_and_the_next_is_shown(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    epochs = directory / "orders-0" / "leader-epoch-checkpoint"
    assert main(["log", "dump", "--json", str(directory / "nothing.log"), str(epochs)]) == 1
    found = lines(capsys.readouterr().out)
    assert [each["kind"] for each in found] == ["finding", "leader epoch", "leader epoch"]
    assert "no such file" in found[0]["reason"].lower()


def test_hostile_bytes_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = BatchBuilder()
    builder.append(0, b"\x1b[2J", b"[bold]not markup[/bold]")
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(builder.build())
    assert main(["log", "dump", "--records", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b[2J" not in shown
    assert "[bold]not markup[/bold]" in shown


def test_long_and_binary_values_are_cut_in_tables_and_whole_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = BatchBuilder()
    builder.append(0, b"\xff" * 1000, b"x" * 1000)
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(builder.build())
    assert main(["log", "dump", "--records", str(log)]) == 0
    shown = capsys.readouterr().out
    assert "0x" + "ff" * 25 + "… (1000 bytes)" in shown
    assert "x" * 100 + "… (1000 bytes)" in shown
    assert main(["log", "dump", "--records", "--json", str(log)]) == 0
    record = lines(capsys.readouterr().out)[1]
    assert record["value"] == "x" * 1000
    assert len(record["key"]["base64"]) == 1336


@pytest.mark.parametrize("how", ["by its directory", "by the option"])
def test_metadata_records_are_decoded(tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str) -> None:
    directory = tmp_path / ("__cluster_metadata-0" if how == "by its directory" else "copy")
    directory.mkdir()
    builder = BatchBuilder()
    level = FeatureLevelRecord(name="metadata.version", feature_level=30)
    builder.append(0, None, encode_metadata_record(level, 0))
    builder.append(0, None, b"\x01\x7f\x00")
    log = directory / "00000000000000000000.log"
    log.write_bytes(builder.build())
    option = "--records" if how == "by its directory" else "--cluster-metadata-decoder"
    assert main(["log", "dump", "--json", option, str(log)]) == 1
    _, first, second, finding = lines(capsys.readouterr().out)
    expected = {"name": "metadata.version", "feature_level": 30}
    assert first["meaning"] == {"type": "FeatureLevelRecord", "version": 0, "value": expected}
    assert second["meaning"] is None
    assert "unknown record type 127" in finding["reason"]


def test_verify(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "verify", str(directory)]) == 0
    assert capsys.readouterr().out.startswith("2 logs, 3 segments, 9 batches, ")


def test_verify_says_what_and_where(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = directory / "orders-0" / "00000000000000000000.index"
    index.write_bytes(b"\0\0\0\x09\0\0\0\x03")
    assert main(["log", "verify", str(directory)]) == 1
    assert f"error {index} at 0: the entry of offset 9 at position 3: no batch begins there" in capsys.readouterr().out
    assert main(["log", "verify", "--json", str(directory)]) == 1
    (finding,) = [each for each in lines(capsys.readouterr().out) if each["kind"] == "finding"]
    assert (finding["severity"], finding["file"], finding["position"]) == ("error", str(index), 0)


def test_verify_counts_warnings_only_when_strict(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "orders-0" / "00000000000000000000.index").unlink()
    assert main(["log", "verify", str(directory)]) == 0
    assert "0 errors, 1 warning" in capsys.readouterr().out
    assert main(["log", "verify", "--strict", str(directory)]) == 1


def test_verify_looks_into_records_only_when_asked(directory: Path) -> None:
    builder = BatchBuilder()
    builder.append(0, b"key", b"value")
    whole = bytearray(builder.build())
    whole[57:61] = (2).to_bytes(4, "big")  # claims a record that is not there
    partition = directory / "alone-0"
    partition.mkdir()
    for kind in (".log", ".index", ".timeindex"):
        (partition / f"00000000000000000000{kind}").touch()
    write_crc(whole)
    (partition / "00000000000000000000.log").write_bytes(whole)
    assert main(["log", "verify", str(partition)]) == 0
    assert main(["log", "verify", "--records", str(partition)]) == 1


def test_verify_of_nothing_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "verify", str(tmp_path / "nowhere")]) == 1
    assert str(tmp_path / "nowhere") in capsys.readouterr().out


def test_a_reader_that_goes_away_is_no_traceback(directory: Path) -> None:
    log = directory / "orders-0" / "00000000000000000010.log"
    command = [sys.executable, "-m", "tidelog", "log", "dump", "--json", "--records", *[str(log)] * 200]
    reader, writer = os.pipe()
    os.close(reader)
    outcome = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert outcome.stderr == ""
