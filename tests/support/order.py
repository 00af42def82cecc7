"""The order of tests, for workers that each get a part of the list and later steal from each other's ends."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

Test = TypeVar("Test")


def dealt_out(modules: Iterable[Sequence[Test]], workers: int) -> list[Test]:
    """Return the tests of all modules, ordered so that each worker begins with some of the first modules and ends with
    some of the last.

    The worksteal mode of xdist cuts the list into as many pieces as there are workers, of the same length but for a
    test. A module goes to the worker that has the most room left, as far as it fits.
    """
    given = [list(tests) for tests in modules]
    count = sum(map(len, given))
    room = [(count + number) // workers for number in range(workers)]
    shares: list[list[Test]] = [[] for _ in room]
    for tests in given:
        at = 0
        while at < len(tests):
            most = room.index(max(room))
            taken = tests[at : at + room[most]]
            shares[most] += taken
            room[most] -= len(taken)
            at += len(taken)
    return [test for share in shares for test in share]
