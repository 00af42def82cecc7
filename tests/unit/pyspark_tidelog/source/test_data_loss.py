"""failOnDataLoss: the first loss ends the query, or a few lines tell of all."""

import logging

import pytest

from pyspark_tidelog.errors import DataLoss
from pyspark_tidelog.source.data_loss import report

LOSSES = [DataLoss("t", partition, 4, (7, 9)) for partition in range(8)]


def test_the_first_is_raised() -> None:
    with pytest.raises(DataLoss) as caught:
        report(LOSSES, fails=True)
    assert caught.value is LOSSES[0]


def test_some_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        report(LOSSES, fails=False)
    assert len(caplog.records) == 6
    assert "t-0: offset 4 is wanted, offsets 7 to 8 are available" in caplog.messages[0]
    assert caplog.messages[-1] == "and 3 more partitions that have lost records"


def test_nothing_lost_is_nothing_said(caplog: pytest.LogCaptureFixture) -> None:
    report([], fails=True)
    report([], fails=False)
    assert not caplog.records
