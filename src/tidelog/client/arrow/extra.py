"""pyarrow is no dependency of the package: whoever wants tables is told how to install it."""

from typing import Any


def require_pyarrow() -> Any:
    """Import and return pyarrow. The ModuleNotFoundError, where it is not installed, says how to install it."""
    try:
        import pyarrow  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("tables need pyarrow: pip install 'tidelog[arrow]'", name="pyarrow") from error
    return pyarrow
