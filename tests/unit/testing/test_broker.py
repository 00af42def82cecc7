"""The handle of a test broker, as far as it works without one: tests/broker has the rest."""

import os

import pytest

from tidelog.testing import BrokerFailed, broker
from tidelog.testing.keeper_process import keeper


def test_settings_by_keyword_or_by_their_own_names() -> None:
    b = broker({"num.partitions": 3}, log_segment_bytes=1_048_576, auto_create_topics_enable=False)
    assert b.settings == {
        "num.partitions": "3",
        "log.segment.bytes": "1048576",
        "auto.create.topics.enable": "false",
    }


def test_the_mapping_wins_over_a_keyword() -> None:
    assert broker({"num.partitions": 3}, num_partitions=4).settings == {"num.partitions": "3"}


def test_a_broker_that_was_not_started_has_no_address_and_nothing_to_end() -> None:
    b = broker()
    with pytest.raises(BrokerFailed, match="not started yet"):
        _ = b.bootstrap_servers
    with pytest.raises(BrokerFailed, match="not started yet"):
        _ = b.data_directory
    b.kill()
    b.stop()
    b.close()
    assert not b.is_running


def test_where_there_is_no_fork_it_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(OSError, match="needs Linux or macOS"):
        keeper()
