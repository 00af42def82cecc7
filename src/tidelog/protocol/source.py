"""Python source under construction, and the constants that it refers to.

The codecs are compiled the way `dataclasses` makes `__init__`: lines of source, executed once. What the source names
and Python cannot spell (classes, packers, defaults) is a constant in the namespace that it runs in.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Source:
    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self._finished: list[str] = []
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0
        self._constants: dict[tuple[type, Any], str] = {}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        began = len(self._lines)
        yield
        if len(self._lines) == began:
            self.line("pass")
        self._depth -= 1

    @contextmanager
    def function(self, head: str) -> Iterator[None]:
        """Begin a function of its own, in the middle of another if need be."""
        outer, self._lines = self._lines, []
        depth, self._depth = self._depth, 0
        with self.block(head):
            yield
        self._finished += self._lines
        self._lines, self._depth = outer, depth

    def name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def constant(self, prefix: str, value: Any) -> str:
        """Return the name under which the source sees `value`. Equal hashable values share one."""
        key = (type(value), value)
        try:
            known = self._constants.get(key)
        except TypeError:
            key, known = (object, id(value)), None
        if known is None:
            known = self._constants[key] = self.name(f"{prefix}_")
            self.namespace[known] = value
        return known

    def text(self) -> str:
        return "\n".join(self._finished) + "\n"

    def compile(self, title: str) -> dict[str, Any]:
        """Run the definitions and return the namespace that now holds them."""
        exec(compile(self.text(), f"<tidelog {title}>", "exec"), self.namespace)
        return self.namespace
