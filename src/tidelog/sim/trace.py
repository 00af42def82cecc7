"""What happened, in order, as a digest: two runs of one seed are compared by one string.

The lines themselves are kept only on request; a long simulation would otherwise spend its memory on them.
"""

import hashlib


class Trace:
    def __init__(self, keep_lines: bool = False) -> None:
        self._hash = hashlib.sha256()
        self.lines: list[str] | None = [] if keep_lines else None
        self.count = 0

    def record(self, *parts: object) -> None:
        """Add a line. Its parts must have the same text in every process: numbers, strings, bytes."""
        line = " ".join(map(str, parts))
        self._hash.update(line.encode() + b"\n")
        self.count += 1
        if self.lines is not None:
            self.lines.append(line)

    def digest(self) -> str:
        return self._hash.hexdigest()
