"""A real node in a process of its own: one for each xdist worker, on a port that the system chose, from the kit that we
give to others (tidelog.testing). A test here fails when the node does not answer; it is never skipped.

`bootstrap` is the address as clients take it, `topic` a name that no other test of the run uses, not yet created. `run`
and `fails` are the command line against it.
"""

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from tidelog.cli.main import main
from tidelog.testing import Broker

Run = Callable[..., list[Any]]

ANSWER_S_MAX = 10


@pytest.fixture
def bootstrap(kafka_broker: Broker) -> str:
    """Return the address of the session's node, which has to accept a connection first. A test that kills or restarts a
    node takes one of its own (`tidelog.testing.broker`)."""
    socket.create_connection((kafka_broker.host, kafka_broker.port), ANSWER_S_MAX).close()
    return kafka_broker.bootstrap_servers


@pytest.fixture
def topic(kafka_topic_prefix: str) -> str:
    return f"{kafka_topic_prefix}topic"


@pytest.fixture
def run(bootstrap: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command with --json against the node. The command has to succeed; its JSON objects
    are returned."""
    monkeypatch.setenv("TIDELOG_BOOTSTRAP", bootstrap)

    def run(*arguments: str) -> list[Any]:
        capsys.readouterr()
        assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


@pytest.fixture
def fails(run: Run, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a command which has to fail with the code given; what it wrote to stderr is
    returned."""

    def fails(code: int, *arguments: str) -> str:
        capsys.readouterr()
        assert main(list(arguments)) == code
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert captured.out == ""
        return captured.err

    return fails
