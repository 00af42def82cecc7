"""Durations as people write and read them."""

import argparse

import pytest

from tidelog.cli.arguments.durations import duration_ms, shown_duration

WRITTEN = {
    "500ms": 500,
    "10s": 10_000,
    "15m": 900_000,
    "1h30m": 5_400_000,
    "2d": 172_800_000,
    "0s": 0,
    "PT10M": 600_000,
    "P1DT2H": 93_600_000,
    " PT5S ": 5_000,
}
SHOWN = {
    0: "0.0s",
    0.24: "0.2s",
    59.6: "1m",
    65: "1m 5s",
    3_600: "1h",
    3_660: "1h 1m",
    90_000: "1d 1h",
    86_405: "1d",
    40 * 86_400: "40d",
}


@pytest.mark.parametrize("text", list(WRITTEN))
def test_read(text: str) -> None:
    assert duration_ms(text) == WRITTEN[text]


@pytest.mark.parametrize("text", ["", "10", "m", "-10m", "10 m", "P", "PT", "1y", "10mx"])
def test_what_is_none_is_said(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no duration like 30s, 15m"):
        duration_ms(text)


@pytest.mark.parametrize("seconds", list(SHOWN))
def test_shown(seconds: float) -> None:
    assert shown_duration(seconds) == SHOWN[seconds]
