"""Groups, offsets and transactions in a directory that goes from Apache's broker to ours and back: each finds what the
other left, members and an open transaction included, and continues from there. Apache's dump tool reads the records
that ours wrote."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.interop.apache.broker import format_directory, running_broker
from tests.interop.apache.coordinated.dumped import by_apache, by_us
from tests.interop.apache.coordinated.workload import SHORT_LIVED_IDS, TOPIC, begin, go_on
from tests.interop.apache.our_broker import our_broker
from tests.interop.apache.printed import our_dump
from tests.interop.apache.transactions.script import CLIENT_ID
from tests.interop.apache.transactions.setting_up import await_coordinators, prepare
from tests.support.blocking_connection import BlockingConnection

from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS


@contextlib.contextmanager
def connected(bootstrap: str) -> Iterator[BlockingConnection]:
    with contextlib.closing(BlockingConnection(bootstrap, CLIENT_ID)) as wire:
        await_coordinators(wire)
        yield wire


@pytest.fixture
def directory(jars: Path, tmp_path: Path) -> Path:
    format_directory(jars, tmp_path / "data")
    return tmp_path / "data"


def test_coordinators_from_apache_to_us_and_back(jars: Path, directory: Path) -> None:
    with running_broker(jars, directory, SHORT_LIVED_IDS) as bootstrap:
        prepare(bootstrap, [TOPIC])
        with connected(bootstrap) as wire:
            there = begin(wire)
            expected = there.view(wire)
    with our_broker(directory) as bootstrap, connected(bootstrap) as wire:
        assert there.view(wire) == expected
        go_on(wire, there, offset=40, is_v2=True)
        expected = there.view(wire)
    assert_dumped(jars, directory)
    with our_broker(directory) as bootstrap, connected(bootstrap) as wire:
        assert there.view(wire) == expected
    with running_broker(jars, directory) as bootstrap, connected(bootstrap) as wire:
        assert there.view(wire) == expected
        go_on(wire, there, offset=50, is_v2=False)
        expected = there.view(wire)
    with our_broker(directory) as bootstrap, connected(bootstrap) as wire:
        assert there.view(wire) == expected
        go_on(wire, there, offset=60, is_v2=False)


def assert_dumped(jars: Path, directory: Path) -> None:
    for topic, decoder, types in (
        ("__consumer_offsets", "--offsets-decoder", GROUP_RECORDS),
        ("__transaction_state", "--transaction-log-decoder", TRANSACTION_RECORDS),
    ):
        ours = by_us(directory / f"{topic}-0", types)
        assert len(ours) > 20
        assert by_apache(jars, directory / f"{topic}-0", decoder) == ours
        for path in (directory / f"{topic}-0").glob("0*"):
            our_dump(path)  # fails on damage
