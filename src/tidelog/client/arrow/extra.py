"""pyarrow is no dependency of the package: who wants tables installs it, and is told so."""

from typing import Any


def require_pyarrow() -> Any:
    """The module; ModuleNotFoundError with the command that installs it."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("tables need pyarrow: pip install 'tidelog[arrow]'", name="pyarrow") from error
    return pyarrow
