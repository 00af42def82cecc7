"""`sasl.jaas.config`: one login module, a flag, and options.

    org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="wonder land";

Quotes are double or single, with backslash escapes inside, as Java's tokenizer has them. What is wrong is told without
a word of the text itself, because a password is in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tidelog.client.security.errors import SettingError

NAME: Final = "sasl.jaas.config"
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      | "(?P<double>(?:\\.|[^"\\\n])*)"
      | '(?P<single>(?:\\.|[^'\\\n])*)'
      | (?P<mark>[=;])
      | (?P<word>[^\s=;"'/]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FORM: Final = """write: ...ScramLoginModule required username="..." password="..."; (with the semicolon)"""


@dataclass(frozen=True, slots=True)
class LoginModule:
    name: str  # of the class, without its package: some builds of Spark move Kafka's classes
    options: dict[str, str] = field(repr=False)


def parse_jaas(text: str) -> LoginModule:
    """Return the login module. SettingError where the text is not one whole module."""
    tokens = list(_tokens(text))
    if len(tokens) < 3 or not (tokens[0][1] and tokens[1][1]):
        raise _broken("is no login module")
    if tokens[1][0].lower() not in _FLAGS:
        raise _broken(f"has none of the flags {', '.join(_FLAGS)} after the module")
    if (";", False) not in tokens:
        raise _broken("does not end with a semicolon")
    end = tokens.index((";", False))
    if end != len(tokens) - 1:
        raise _broken("has more than one login module")
    return LoginModule(tokens[0][0].rpartition(".")[2], _options(tokens[2:end]))


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each token, with whether it is text (True) or a mark, `=` or `;` (False)."""
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _broken("has a quote that is not closed, or a character that is in no quotes")
        position = found.end()
        match found.lastgroup:
            case "double" | "single" as quoted:
                yield _ESCAPE.sub(_unescape, found[quoted]), True
            case "mark" | "word" as bare:
                yield found[bare], bare == "word"


def _unescape(found: re.Match[str]) -> str:
    escaped = found[1]
    return chr(int(escaped, 8)) if escaped.isdigit() and escaped < "8" else _CONTROLS.get(escaped, escaped)


def _options(tokens: list[tuple[str, bool]]) -> dict[str, str]:
    options = {}
    for start in range(0, len(tokens), 3):
        entry = tokens[start : start + 3]
        if len(entry) < 3 or not entry[0][1] or entry[1] != ("=", False) or not entry[2][1]:
            raise _broken("has an option that is not name=value")
        options[entry[0][0]] = entry[2][0]
    return options


def _broken(problem: str) -> SettingError:
    return SettingError(NAME, problem, _FORM)
