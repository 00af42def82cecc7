"""Lines of files and of standard input, without waiting in them: between two lines that a person types, a producer has
batches to send and answers to read.
"""

import os
import select
from collections.abc import Iterator
from typing import Final

from tidelog.cli.failing import WrongUsage

LINES_CHUNK_BYTES: Final = 1 << 18
IDLE_MS: Final = 20
STANDARD_INPUT: Final = "-"


def lines(name: str) -> Iterator[bytes | None]:
    """Yield the lines of a file, without their ends; None whenever nothing has come for a moment."""
    if name == STANDARD_INPUT:
        yield from _lines(0)
        return
    try:
        descriptor = os.open(name, os.O_RDONLY)
    except OSError as error:
        raise WrongUsage(f"{name}: {error.strerror}") from error
    try:
        yield from _lines(descriptor)
    finally:
        os.close(descriptor)


def _lines(descriptor: int) -> Iterator[bytes | None]:
    rest: list[bytes] = []  # in pieces: a line longer than a chunk must not be copied for each chunk
    while True:
        while not _is_ready(descriptor):
            yield None
        chunk = os.read(descriptor, LINES_CHUNK_BYTES)
        if not chunk:
            break
        first, *others = chunk.split(b"\n")
        rest.append(first)
        if others:
            yield _without_return(b"".join(rest))
            yield from map(_without_return, others[:-1])
            rest = [others[-1]]
    last = b"".join(rest)
    if last:
        yield _without_return(last)


def _is_ready(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], IDLE_MS / 1000)[0])


def _without_return(line: bytes) -> bytes:
    return line.removesuffix(b"\r")
