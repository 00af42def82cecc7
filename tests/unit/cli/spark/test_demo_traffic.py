import argparse

import pytest

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
