"""Without pyarrow the caller is told what to install."""

import sys

import pytest

from tidelog.client.arrow.extra import require_pyarrow


def test_its_absence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    assert require_pyarrow().__name__ == "pyarrow"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"tidelog\[arrow\]"):
        require_pyarrow()
