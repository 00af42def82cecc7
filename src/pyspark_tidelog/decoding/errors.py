"""What goes wrong between bytes and values. A row that cannot be decoded is the row's fault, and may become null; a
registry that does not answer is not, and never does: good rows would be lost without a word."""

from pyspark_tidelog.errors import TidelogError


class BadValue(Exception):
    """Inside this package: these bytes are not what they should be, and why."""


class UndecodableValue(TidelogError):
    """A row whose value cannot be decoded: where it is, and why not."""


class RegistryError(TidelogError):
    """The schema registry did not answer, or not with a schema."""


def not_installed(what: str) -> RegistryError:
    return RegistryError(f"{what} is not installed", "", "pip install tidelog[registry], on the workers too")
