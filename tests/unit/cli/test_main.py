import re
import subprocess
import sys

import pytest

from tidelog.cli.main import main


def test_version_says_which_kernels_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert re.fullmatch(r"tidelog \d+\.\d+\.\d+\S* (compiled|pure).* python 3\.\d+\.\d+ \S+\n", capsys.readouterr().out)


def test_no_command_is_an_error_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([])
    assert "COMMAND" in capsys.readouterr().err


def test_the_module_is_the_command() -> None:
    outcome = subprocess.run([sys.executable, "-m", "tidelog", "version"], capture_output=True, text=True, check=True)
    assert outcome.stdout.startswith("tidelog ")
