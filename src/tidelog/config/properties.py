"""Java's properties syntax, in full: what `server.properties` and `meta.properties` are written in.

A logical line is a natural line and its continuations (a backslash at the end); its key ends at the first `=`, `:` or
blank that no backslash protects. Text in, text out: which bytes a file holds, and in which encoding, is for whoever
reads the file. Every entry keeps the line that it begins on, so that a complaint can point at it. One thing is not
Java's: a file whose last line is a backslash and nothing else does not end in an entry with an empty key.
"""

import re
from collections.abc import Iterator, Mapping

from tidelog.model.lazy_dataclass import dataclass

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {char: f"\\{letter}" for letter, char in _ESCAPES.items()}
_NATURAL_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY_END = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u(?P<hex>[0-9a-fA-F]{4})|(?P<char>.))", re.DOTALL)
_BAD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})")


@dataclass(slots=True, frozen=True)
class MalformedProperty:
    """An entry that Java refuses."""

    line: int
    reason: str


@dataclass(slots=True, frozen=True)
class Property:
    key: str
    value: str
    line: int


def read_properties(text: str) -> Iterator[Property | MalformedProperty]:
    """Yield every entry in the order of the file, repeated keys included; the last of them counts."""
    for number, line in _logical_lines(text):
        key_end = _match_end(_KEY_END, line, 0)
        value_start = _match_end(_SEPARATOR, line, key_end)
        if _BAD_ESCAPE.search(line):
            yield MalformedProperty(number, "malformed: \\u must be followed by four hexadecimal digits")
        else:
            yield Property(_unescape(line[:key_end]), _unescape(line[value_start:]), number)


def parse_properties(text: str) -> dict[str, str]:
    """Return the entries of a file that must be well formed; ValueError names the line that is not."""
    entries: dict[str, str] = {}
    for entry in read_properties(text):
        if isinstance(entry, MalformedProperty):
            raise ValueError(f"line {entry.line}: {entry.reason}")
        entries[entry.key] = entry.value
    return entries


def format_properties(entries: Mapping[str, str]) -> str:
    """Return text that `parse_properties`, and Java, reads back as the same entries."""
    return "".join(f"{_escape(key, '=: #!')}={_escape_value(value)}\n" for key, value in entries.items())


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    begun, gathered = 0, ""
    for number, natural in enumerate(_NATURAL_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        # A line with nothing but a backslash begins no entry: the next line may still be a comment.
        if not gathered and (not line or line[0] in "#!"):
            continue
        begun = begun if gathered else number
        backslashes = len(line) - len(line.rstrip("\\"))
        continues = backslashes % 2 == 1
        gathered += line[:-1] if continues else line
        if not continues:
            yield begun, gathered
            gathered = ""
    if gathered:
        yield begun, gathered


def _match_end(pattern: re.Pattern[str], line: str, start: int) -> int:
    match = pattern.match(line, start)
    assert match, "both patterns match the empty text"
    return match.end()


def _unescape(text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        digits, char = match["hex"], match["char"]
        return chr(int(digits, 16)) if digits else _ESCAPES.get(char, char)

    return _join_surrogates(_ESCAPE.sub(replace, text)) if "\\" in text else text


def _join_surrogates(text: str) -> str:
    """Join the halves of UTF-16: a character beyond the first plane is written as two escapes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _escape(text: str, special: str) -> str:
    return "".join(_escape_char(char, special) for char in text)


def _escape_char(char: str, special: str) -> str:
    if char in _ESCAPED:
        return _ESCAPED[char]
    if char == "\\" or char in special:
        return f"\\{char}"
    if " " <= char <= "~":
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _escape_value(value: str) -> str:
    # Only leading blanks of a value would be taken for the separator.
    blanks = len(value) - len(value.lstrip(" "))
    return "\\ " * blanks + _escape(value[blanks:], "")
