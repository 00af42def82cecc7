"""`tidelog demo traffic`: its arguments, and what it says where the shoppers are not installed."""

import argparse
import sys

import pytest

from tidelog.cli.exit_codes import FAILED
from tidelog.cli.main import main
from tidelog.cli.spark.demo_traffic import positive


@pytest.mark.parametrize("text", ["0", "-1", "many", "nan", "inf"])
def test_a_rate_is_above_nothing_and_has_an_end(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="above 0"):
        positive(text)


def test_fractions_are_rates_too() -> None:
    assert positive("0.5") == 0.5


def test_one_end_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["demo", "traffic", "--events", "1", "--seconds", "1"])
    assert "not allowed with" in capsys.readouterr().err


def test_without_the_shoppers_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tidelog_pipelines", None)
    assert main(["demo", "traffic"]) == FAILED
    said = capsys.readouterr().err
    assert "pip install ./pipelines" in said
    assert "Traceback" not in said
