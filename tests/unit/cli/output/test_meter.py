import pytest

from tidelog.cli.output.meter import Meter


def test_nothing_is_said_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter("consumed", is_shown=False)
    for _ in range(600):
        meter.add(10)
    meter.finish()
    assert capsys.readouterr() == ("", "")
    assert (meter.records, meter.size_bytes) == (600, 6000)


def test_the_last_word_on_standard_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("tidelog.cli.output.meter.time.monotonic", lambda: now)
    meter = Meter("consumed", is_shown=True)
    now = 102.0
    for _ in range(256):
        meter.add(1024)
    meter.finish()
    said = capsys.readouterr()
    assert said.out == ""
    first, last = said.err.split("\r\033[K")[1:]
    assert first == "consumed 256 records, 256 KiB, 128 records/s, 128 KiB/s"
    assert last == "consumed 256 records, 256 KiB in 2.0 s\n"
