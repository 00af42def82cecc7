"""The marker of a clean stop: there after one, gone before anything is written again."""

import pytest
from tests.unit.storage.power import machine, worlds_after_a_cut

from tidelog.storage.checkpoints.clean_shutdown import (
    decode_clean_shutdown,
    read_clean_shutdown,
    remove_clean_shutdown,
    write_clean_shutdown,
)
from tidelog.storage.checkpoints.errors import CorruptCleanShutdownError


def test_read_as_written_and_gone_when_removed() -> None:
    fs = machine()
    assert read_clean_shutdown(fs, "/disk") is None
    write_clean_shutdown(fs, "/disk", 17)
    found = read_clean_shutdown(fs, "/disk")
    assert found is not None
    assert found.broker_epoch == 17
    remove_clean_shutdown(fs, "/disk")
    assert read_clean_shutdown(fs, "/disk") is None
    remove_clean_shutdown(fs, "/disk")


def test_an_empty_one_is_of_an_older_broker() -> None:
    assert decode_clean_shutdown(b"", "it").broker_epoch is None


def test_a_newer_one_may_say_more() -> None:
    assert decode_clean_shutdown(b'{"version": 4, "x": [], "brokerEpoch": 9}', "it").broker_epoch == 9


@pytest.mark.parametrize(
    "contents",
    [
        b"{",
        b"{}",
        b"[]",
        b"17",
        b'{"brokerEpoch":null}',
        b'{"brokerEpoch":"9"}',
        b'{"brokerEpoch":true}',
        b"\0" * 38,
        b"\xff",
    ],
)
def test_one_that_says_nothing_is_a_typed_error(contents: bytes) -> None:
    with pytest.raises(CorruptCleanShutdownError) as caught:
        decode_clean_shutdown(contents, "/disk/.kafka_cleanshutdown")
    assert caught.value.path == "/disk/.kafka_cleanshutdown"


def test_a_removed_one_never_comes_back() -> None:
    """If it did, a log that was torn after the start would be taken for a whole one."""
    worlds = worlds_after_a_cut(
        lambda fs: write_clean_shutdown(fs, "/disk", 17), lambda fs: remove_clean_shutdown(fs, "/disk")
    )
    for fs, completed in worlds:
        found = read_clean_shutdown(fs, "/disk")
        assert found is None or (found.broker_epoch == 17 and not completed)


def test_a_written_one_stays() -> None:
    worlds = worlds_after_a_cut(lambda fs: None, lambda fs: write_clean_shutdown(fs, "/disk", 17))
    for fs, completed in worlds:
        found = read_clean_shutdown(fs, "/disk")
        assert (found is not None and found.broker_epoch == 17) or (found is None and not completed)
