"""The errors of decoding. A row that cannot be decoded is the row's fault, and may become null. A registry that does
not answer is not the row's fault, and always fails the query: good rows would be lost without a word."""

from pyspark_tidelog.errors import TidelogError


class BadValue(Exception):
    """Bytes that cannot be decoded; the message says why. Only raised and caught inside of this package."""


class UndecodableValue(TidelogError):
    """A row whose value cannot be decoded: where it is, and why not."""


class RegistryError(TidelogError):
    """The schema registry did not answer, or not with a schema."""


def not_installed(what: str) -> RegistryError:
    return RegistryError(f"{what} is not installed", "", "pip install tidelog[registry], on the workers too")
