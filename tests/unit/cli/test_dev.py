import argparse
from pathlib import Path

import pytest

from tidelog.cli.dev import advertised_address, port
from tidelog.cli.main import main


@pytest.mark.parametrize("text", ["localhost:9092", "10.0.0.1:1", "[::1]:9092"])
def test_what_clients_can_be_told(text: str) -> None:
    assert advertised_address(text) == text


@pytest.mark.parametrize(
    "text", ["localhost", ":9092", "0.0.0.0:9092", "[::]:9092", "a:b", "PLAINTEXT://a:1", "a:70000"]
)
def test_what_clients_can_not_be_told(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        advertised_address(text)


def test_ports() -> None:
    assert port("0") == 0
    assert port("65535") == 65535
    for text in ("65536", "-1", "http", "٣"):
        with pytest.raises(argparse.ArgumentTypeError):
            port(text)


def test_a_wrong_setting_is_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--dir", str(tmp_path / "d"), "--override", "num.partitions=none"]) == 2
    assert "num.partitions = none" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_a_directory_that_can_not_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["dev", "--dir", str(tmp_path / "file")]) == 1
    assert "--dir" in capsys.readouterr().err


def test_an_override_is_a_pair() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["dev", "--override", "num.partitions"])
