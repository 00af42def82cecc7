import argparse

import pytest

from tidelog.cli.arguments.places import BEGINNING, END, Place, place, shown_time, start

NOON = 1_777_636_800_000  # 2026-05-01T12:00Z
NOW_S = 1_777_640_000.5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("beginning", BEGINNING),
        ("earliest", BEGINNING),
        ("END", END),
        ("latest", END),
        ("0", Place(offset=0)),
        ("12345", Place(offset=12345)),
        ("2026-05-01T12:00", Place(timestamp_ms=NOON)),
        ("2026-05-01T12:00Z", Place(timestamp_ms=NOON)),
        ("2026-05-01T14:00:00+02:00", Place(timestamp_ms=NOON)),
        ("2026-05-01", Place(timestamp_ms=NOON - 12 * 3_600_000)),
        ("-250ms", Place(timestamp_ms=1_777_640_000_250)),
        ("-10m", Place(timestamp_ms=1_777_639_400_500)),
        ("-1h30m", Place(timestamp_ms=1_777_634_600_500)),
        ("-2d", Place(timestamp_ms=1_777_467_200_500)),
    ],
)
def test_a_place(text: str, found: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.cli.arguments.places.time.time", lambda: NOW_S)
    assert place(text) == found


@pytest.mark.parametrize("text", ["", "middle", "-1", "-10x", "2026-13-01", "1.5", "٣"])
def test_what_is_no_place_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"none of beginning, end"):
        place(text)


def test_where_to_start_may_be_the_last_records() -> None:
    assert start("-10") == Place(last=10)
    assert start("12345") == Place(offset=12345)
    assert start("beginning") == BEGINNING
    for wrong in ("-0", "-1.5", "-", "--10", "-\u0663", "middle"):
        with pytest.raises(argparse.ArgumentTypeError, match=r"none of beginning.*-10: the last ten records"):
            start(wrong)


def test_times_are_shown_in_utc_to_the_millisecond() -> None:
    assert shown_time(NOON + 7) == "2026-05-01T12:00:00.007Z"
    assert shown_time(1 << 62) == str(1 << 62)
