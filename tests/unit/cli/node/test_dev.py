import argparse
from pathlib import Path

import pytest

from tidelog.cli.main import main
from tidelog.cli.node.dev import advertised_address, data_text, port
from tidelog.config.settings.node import NODE_ID
from tidelog.config.settings.quorum import CONTROLLER_QUORUM_VOTERS
from tidelog.io.development import DevelopmentNode, development_config


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


def test_a_directory_may_be_named_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["dev", "--dir", "../there/./data", "--host", "198.51.100.1"]) == 1
    assert "cannot listen on 198.51.100.1" in capsys.readouterr().err
    assert (tmp_path / "there/data/meta.properties").exists()


def test_an_override_is_a_pair() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["dev", "--override", "num.partitions"])


def test_an_unknown_setting_is_refused_with_the_nearest_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dev", "--dir", str(tmp_path / "d"), "--override", "num.partitons=3"]) == 2
    expected = "tidelog: --override: num.partitons: unknown setting; did you mean num.partitions?\n"
    assert capsys.readouterr().err == expected
    assert not (tmp_path / "d").exists()


def test_the_data_is_where_an_override_puts_it(tmp_path: Path) -> None:
    given = str(tmp_path / "given")
    options = argparse.Namespace(dir=given, ephemeral=False)
    for overrides, expected in (({}, given), ({"log.dirs": "/x,/y"}, "/x, /y")):
        config = development_config(DevelopmentNode(given, overrides=overrides), "test").config
        assert data_text(config, options, given) == expected


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_another_node_id_is_that_of_the_voter(tmp_path: Path, name: str) -> None:
    config = development_config(DevelopmentNode(str(tmp_path), overrides={name: "4"}), "test").config
    assert config.get(NODE_ID) == 4
    assert [each.partition("@")[0] for each in config.get(CONTROLLER_QUORUM_VOTERS)] == ["4"]


def test_a_node_id_that_is_no_number_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "--dir", str(tmp_path / "d"), "--override", "node.id=four"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
