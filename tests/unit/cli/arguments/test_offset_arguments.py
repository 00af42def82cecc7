import argparse

import pytest

from tidelog.cli.arguments.offset_arguments import BEGINNING, END, OffsetArgument, parse_offset, parse_start, shown_time

NOON = 1_777_636_800_000  # 2026-05-01T12:00Z
NOW_S = 1_777_640_000.5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("beginning", BEGINNING),
        ("earliest", BEGINNING),
        ("END", END),
        ("latest", END),
        ("0", OffsetArgument(offset=0)),
        ("12345", OffsetArgument(offset=12345)),
        ("2026-05-01T12:00", OffsetArgument(timestamp_ms=NOON)),
        ("2026-05-01T12:00Z", OffsetArgument(timestamp_ms=NOON)),
        ("2026-05-01T14:00:00+02:00", OffsetArgument(timestamp_ms=NOON)),
        ("2026-05-01", OffsetArgument(timestamp_ms=NOON - 12 * 3_600_000)),
        ("-250ms", OffsetArgument(timestamp_ms=1_777_640_000_250)),
        ("-10m", OffsetArgument(timestamp_ms=1_777_639_400_500)),
        ("-1h30m", OffsetArgument(timestamp_ms=1_777_634_600_500)),
        ("-2d", OffsetArgument(timestamp_ms=1_777_467_200_500)),
    ],
)
def test_a_place(text: str, found: OffsetArgument, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.cli.arguments.offset_arguments.time.time", lambda: NOW_S)
    assert parse_offset(text) == found


@pytest.mark.parametrize("text", ["", "middle", "-1", "-10x", "2026-13-01", "1.5", "٣"])
def test_what_is_no_place_is_refused_with_what_would_be(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"none of beginning, end"):
        parse_offset(text)


def test_where_to_start_may_be_the_last_records() -> None:
    assert parse_start("-10") == OffsetArgument(last=10)
    assert parse_start("12345") == OffsetArgument(offset=12345)
    assert parse_start("beginning") == BEGINNING
    for wrong in ("-0", "-1.5", "-", "--10", "-\u0663", "middle"):
        with pytest.raises(argparse.ArgumentTypeError, match=r"none of beginning.*-10: the last ten records"):
            parse_start(wrong)


def test_times_are_shown_in_utc_to_the_millisecond() -> None:
    assert shown_time(NOON + 7) == "2026-05-01T12:00:00.007Z"
    assert shown_time(1 << 62) == str(1 << 62)
