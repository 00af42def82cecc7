"""A secret. It is a type of its own so that no log line, repr, traceback or format string can show it by accident:
the only way to the text is to ask for `reveal()`, which is easy to search for."""

HIDDEN = "[hidden]"


class Password:
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a password is not pickled: it would be written out in the clear")
