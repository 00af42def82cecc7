"""The order in which tests run: every worker begins with tests that wait."""

import pytest
from tests.support.order import dealt_out


def pieces(tests: list[str], workers: int) -> list[list[str]]:
    """Cut the list as the worksteal mode of xdist does."""
    cut, left = [], tests
    for number in range(workers):
        length = len(left) // (workers - number)
        cut.append(left[:length])
        left = left[length:]
    return cut


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 7])
def test_every_test_runs_once_and_each_worker_goes_from_the_first_modules_to_the_last(workers: int) -> None:
    sizes = [1, 1, 2, 1, 3, 1, 2, 40, 1, 7, 100, 30]
    modules = [[f"{number:02} {test:03}" for test in range(size)] for number, size in enumerate(sizes)]
    order = dealt_out(modules, workers)
    assert sorted(order) == [test for tests in modules for test in tests]
    for piece in pieces(order, workers):
        assert piece == sorted(piece)
        assert piece[0][:2] < f"{workers:02}"


def test_a_module_stays_with_one_worker_where_there_is_room() -> None:
    modules = [["a1", "a2"], ["b1"], ["c1", "c2", "c3"]]
    assert pieces(dealt_out(modules, 2), 2) == [["a1", "a2", "c3"], ["b1", "c1", "c2"]]
