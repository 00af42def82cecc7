"""Helper threads: work that finds no free descriptor is tried again, until there is one or the process stops."""

import threading

from tidelog.io.threads import HelperThreads
from tidelog.ports.errors import TooManyOpenFiles
from tidelog.ports.files import Completion

ANSWER_S_MAX = 10


def test_work_that_finds_no_descriptor_is_tried_again() -> None:
    woken = threading.Event()
    helpers = HelperThreads(woken.set)
    tried: list[int] = []

    def work() -> None:
        tried.append(len(tried))
        if len(tried) < 3:
            raise TooManyOpenFiles("/x", "simulated")

    ticket = helpers.begin("lane", work)
    assert woken.wait(ANSWER_S_MAX)
    assert [(each.ticket, each.fault) for each in helpers.completions()] == [(ticket, None)]
    assert len(tried) == 3
    helpers.stop()


def test_a_stop_does_not_wait_for_descriptors() -> None:
    begun = threading.Event()
    helpers = HelperThreads(lambda: None)

    def work() -> None:
        begun.set()
        raise TooManyOpenFiles("/x", "simulated")

    helpers.begin("lane", work)
    assert begun.wait(ANSWER_S_MAX)
    helpers.stop()
    (completion,) = helpers.completions()
    assert isinstance(completion, Completion)
    assert isinstance(completion.fault, TooManyOpenFiles)
