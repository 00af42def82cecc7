import pytest


@pytest.fixture(autouse=True)
def _no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset COLUMNS, which xdist sets in its workers, because a table would be cut to it."""
    monkeypatch.delenv("COLUMNS", raising=False)
