"""The report of a start on its recovery: one line for what every kill leaves behind, one each for the rest."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.sim.broker import Broker, topic_config

from tidelog.cli.node.running import report
from tidelog.model.ids import TopicPartition
from tidelog.server.node.node import Node
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem

LOGS = 30


def killed(count: int) -> Broker:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=topic_config()).start()
    for index in range(count):
        node.produce([b"x"], TopicPartition("t", index))
    node.fs.kill()
    return Broker(node.fs, clock, config=topic_config()).start()


def told(node: Broker, caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    caplog.clear()
    with caplog.at_level(level, "tidelog"):
        files = SimpleNamespace(metadata=SimpleNamespace(problems=[]))
        report(cast(Node, cast(Any, SimpleNamespace(progress=node.progress, files=files))))
    return [each.getMessage() for each in caplog.records]


def test_indexes_that_a_kill_left_unwritten_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    (line,) = told(killed(LOGS), caplog, logging.INFO)
    assert line.startswith(f"{LOGS} logs had no index")


def test_a_log_that_tells_everything_names_them(caplog: pytest.LogCaptureFixture) -> None:
    lines = told(killed(LOGS), caplog, logging.DEBUG)
    assert len([line for line in lines if "it has no .index; rebuilt" in line]) == LOGS


def test_after_a_stop_in_order_nothing_is_told(caplog: pytest.LogCaptureFixture) -> None:
    node = killed(3)
    node.stop()
    assert told(Broker(node.fs, node.clock, config=topic_config()).start(), caplog, logging.INFO) == []
