"""Subscriptions by regular expression (KIP-848): RE2, as Kafka's coordinator reads them.

RE2 takes time linear in the name, whatever a client sends, and a bounded amount of memory. A name must match as a
whole. Internal topics are topics like others here, as in Kafka: a client that does not want them says so in its
expression.
"""

from collections.abc import Iterable
from typing import Final, Protocol

# RE2's own limit is 8 MiB an expression. 3,000 long names in a row fit in this.
MEMORY_BYTES_MAX: Final = 1 << 20


class InvalidRegex(Exception):
    """An expression that RE2 does not accept; the text says why, in RE2's words."""


class Matcher(Protocol):
    """A compiled expression. It matches bytes, because RE2 works on bytes and is asked about every topic that there
    is."""

    def fullmatch(self, text: bytes, /) -> object | None: ...


def compile_regex(regex: str) -> Matcher:
    import re2  # type: ignore[import-untyped]  # imported here: most nodes never see such a subscription

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = MEMORY_BYTES_MAX
    try:
        matcher: Matcher = re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0]
        raise InvalidRegex(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None
    except UnicodeEncodeError as error:
        raise InvalidRegex(f"it is not UTF-8: {error.reason}") from None
    finally:
        re2.purge()  # the library remembers the last 128, for ever
    return matcher


def matching_topics(names: Iterable[str], matcher: Matcher) -> list[str]:
    """Return those of `names` that match, in their order."""
    return [name for name in names if matcher.fullmatch(name.encode()) is not None]
