import pytest


@pytest.fixture(autouse=True)
def _no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """xdist sets COLUMNS in its workers, and a table would be cut to it."""
    monkeypatch.delenv("COLUMNS", raising=False)
