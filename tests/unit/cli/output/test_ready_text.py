"""The addresses that clients will be told, as the start-up text shows them."""

from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.cli.output.ready_text import say_ready, served
from tidelog.config import BrokerConfig, load_broker_config
from tidelog.ports.network import Address

BOUND = {
    "PLAINTEXT": Address("0.0.0.0", 9092),
    "OTHER": Address("::1", 9094),
    "CONTROLLER": Address("127.0.0.1", 9093),
}
TEXT = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://:9092,OTHER://[::1]:9094,CONTROLLER://127.0.0.1:9093
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=/data
"""


def config_with(*lines: str) -> BrokerConfig:
    return load_broker_config(TEXT + "".join(f"{line}\n" for line in lines)).config


def runner() -> Any:
    return SimpleNamespace(bound=BOUND, metrics_address=None)


def test_each_client_hears_its_own_address() -> None:
    assert served(runner(), config_with()) == [("PLAINTEXT", "0.0.0.0:9092", None), ("OTHER", "[::1]:9094", None)]


def test_advertised_or_not_at_all() -> None:
    config = config_with("advertised.listeners=PLAINTEXT://example.com:19092")
    assert [each.told for each in served(runner(), config)] == ["example.com:19092", ""]


def test_the_text_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    config = config_with("advertised.listeners=PLAINTEXT://example.com:19092")
    say_ready(runner(), config, as_json=False, tips=("tidelog topics list",))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Tidelog is ready on 0.0.0.0:9092, [::1]:9094 ")
    assert lines[1].split() == ["data", "/data"]
    assert lines[2].endswith("clients on PLAINTEXT   are told example.com:19092")
    assert "are told of no address" in lines[3]
    assert lines[-1].strip() == "tidelog topics list"
