"""The demo is the first thing that a newcomer runs: it has to do what it says."""

import pytest
from examples import tour


def test_the_tour_says_what_it_claims(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tour.console, "width", 160)
    tour.main()
    output = capsys.readouterr().out
    assert "server.properties:6: log.segment.bytes = 12x: not a whole number" in output
    assert "did you mean log.retention.hours?" in output
    assert "ends too early" in output
    assert all(codec in output for codec in ("none", "gzip", "snappy", "lz4", "zstd"))
    assert output.count("customer-0") == 5
    with_sync = next(line for line in output.splitlines() if "with fsync" in line)
    assert [cell.strip() for cell in with_sync.split("│")[2:5]] == ["500", "0", "0"]
