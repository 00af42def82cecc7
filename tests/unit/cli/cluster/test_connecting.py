import argparse
import socket
import sys

import pytest

from tidelog.cli.cluster.connecting import bootstrap_of, confirmed
from tidelog.cli.failing import CommandFailed
from tidelog.cli.main import main


@pytest.fixture
def dead_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_where_the_cluster_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDELOG_BOOTSTRAP", raising=False)
    assert bootstrap_of(argparse.Namespace(bootstrap=None)) == "127.0.0.1:9092"
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", "there:1")
    assert bootstrap_of(argparse.Namespace(bootstrap=None)) == "there:1"
    assert bootstrap_of(argparse.Namespace(bootstrap="here:2")) == "here:2"


@pytest.mark.parametrize(
    "command", [["topics", "list"], ["cluster", "describe"], ["consume", "t"], ["perf", "consume"]]
)
def test_nobody_there(command: list[str], dead_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "-b", f"127.0.0.1:{dead_port}"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"127.0.0.1:{dead_port}" in captured.err
    assert "`tidelog dev`" in captured.err
    assert "-b HOST:PORT" in captured.err
    assert "Traceback" not in captured.err


def test_an_address_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "-b", "host:port"]) == 2
    assert "'host:port'" in capsys.readouterr().err


class Terminal:
    """A terminal at which the user gives this answer."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.answer


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "nonsense\n"])
def test_a_person_is_asked_first(
    answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    with pytest.raises(CommandFailed, match="left as it was"):
        confirmed("Delete it?", argparse.Namespace(yes=False))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "Delete it? [y/N] ")


def test_who_has_said_yes_is_not_asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n"))
    confirmed("Delete it?", argparse.Namespace(yes=False))
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    confirmed("Delete it?", argparse.Namespace(yes=True))
    assert capsys.readouterr().err == ""
