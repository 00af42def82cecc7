"""Modules that a node imports only when it has time: one after the other, and in the end everything that it serves."""

import errno
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.io import preloading
from tidelog.io.clock import SystemClock
from tidelog.io.preloading import BUSY_TURNS_MAX, RETRY_MS, Preloading
from tidelog.io.run import Runner
from tidelog.server.node.deferred_modules import LIBRARIES, deferred_modules

NEW_MODULES_MAX = 16

# Runs in a new interpreter, where nothing is imported yet.
STARTED = "import sys; import tidelog.cli.node.running, tidelog.io.development, tidelog.server.handlers.metadata;"


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(preloading, "import_module", found.append)
    return found


def in_fresh_interpreter(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", STARTED + script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_an_idle_turn_imports_one_module(imported: list[str]) -> None:
    loading = Preloading(["a", "b"])
    loading.turn(is_idle=True)
    assert imported == ["a"]
    assert not loading.is_done
    loading.turn(is_idle=True)
    assert imported == ["a", "b"]
    assert loading.is_done


def test_a_busy_node_gets_on_with_it_too_but_seldom(imported: list[str]) -> None:
    loading = Preloading(["a", "b"])
    for _ in range(BUSY_TURNS_MAX - 1):
        loading.turn(is_idle=False)
    assert imported == []
    loading.turn(is_idle=False)
    assert imported == ["a"]


def test_without_a_descriptor_the_same_module_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def refuse_first(name: str) -> None:
        tried.append(name)
        if len(tried) == 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(preloading, "import_module", refuse_first)
    loading = Preloading(["a"])
    loading.turn(is_idle=True)
    assert not loading.is_done
    loading.turn(is_idle=True)
    assert tried == ["a", "a"]
    assert loading.is_done


def test_waiting_for_descriptors_is_one_plain_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_name: str) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(preloading, "import_module", refuse)
    loading = Preloading(["a"])
    for _ in range(3):
        loading.turn(is_idle=True)
    assert [each.levelname for each in caplog.records] == ["WARNING"]
    assert "Raise ulimit -n" in caplog.text
    assert caplog.records[0].exc_info is None


def test_after_an_import_that_failed_an_idle_node_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    faults: list[Exception] = [OSError(errno.EMFILE, os.strerror(errno.EMFILE))]

    def refuse_first(_name: str) -> None:
        if faults:
            raise faults.pop()

    monkeypatch.setattr(preloading, "import_module", refuse_first)
    loading = Preloading(["a", "b"])
    assert loading.wait_ms == 0
    loading.turn(is_idle=True)
    assert loading.wait_ms == RETRY_MS
    loading.turn(is_idle=True)
    assert loading.wait_ms == 0


def test_a_runner_waits_as_long_as_its_preloading_says(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []

    class IdleReactor:
        is_ready = False

        def wait(self, timeout_ms: int) -> None:
            waits.append(timeout_ms)

    def refuse(_name: str) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(preloading, "import_module", refuse)
    runner: Any = Runner.__new__(Runner)
    runner.reactor, runner.clock = IdleReactor(), SystemClock()
    runner._preloading = Preloading(["a"])
    for _ in range(3):
        runner._wait(SimpleNamespace(deadline_ms=None))
    assert waits == [0, RETRY_MS, RETRY_MS]


def wrapped(cause: Exception) -> ImportError:
    error = ImportError("cannot import name 'x'")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ImportError(f"libz.so.1: cannot open shared object file: {os.strerror(errno.EMFILE)}"), True),
        (wrapped(OSError(errno.EMFILE, os.strerror(errno.EMFILE))), True),
        (ImportError("cannot import name 'x' from 'y'"), False),
        (ModuleNotFoundError("No module named 'y'"), False),
    ],
)
def test_an_extension_that_can_not_be_loaded_now_is_tried_again_and_one_that_is_missing_is_not(
    monkeypatch: pytest.MonkeyPatch, error: ImportError, passes: bool
) -> None:
    def refuse(_name: str) -> None:
        raise error

    monkeypatch.setattr(preloading, "import_module", refuse)
    loading = Preloading(["a"])
    if passes:
        loading.turn(is_idle=True)
        assert not loading.is_done
    else:
        with pytest.raises(ImportError):
            loading.turn(is_idle=True)


def test_a_start_imports_no_coordinator_and_no_handler_but_those_of_the_first_answer() -> None:
    found = in_fresh_interpreter(
        "print(sorted(name for name in sys.modules if name.startswith(('tidelog.coordinator.group', "
        "'tidelog.server.handlers.', 'tidelog.server.metrics.catalogue', 'rich', 're2', 'ssl', 'hashlib', 'email'))))"
    )
    assert found == "['tidelog.server.handlers.api_versions', 'tidelog.server.handlers.metadata']"


def test_a_start_imports_no_library_that_only_workers_and_mistakes_need() -> None:
    found = in_fresh_interpreter(f"print([name for name in {(*LIBRARIES, 'shutil')!r} if name in sys.modules])")
    assert found == "[]"


def test_no_step_brings_many_modules() -> None:
    script = (
        "from importlib import import_module; from tidelog.server.node.deferred_modules import deferred_modules\n"
        "for name in deferred_modules(has_metrics=True):\n"
        "    before = len(sys.modules); import_module(name); print(len(sys.modules) - before, name)"
    )
    steps = [line.split() for line in in_fresh_interpreter(script).splitlines()]
    assert [name for _count, name in steps] == deferred_modules(has_metrics=True)
    assert {name: int(count) for count, name in steps if int(count) > NEW_MODULES_MAX} == {}


def test_afterwards_every_api_is_served_without_another_import() -> None:
    script = (
        "from tidelog.io.preloading import Preloading\n"
        "from tidelog.server.node.deferred_modules import deferred_modules\n"
        "from tidelog.protocol.messages.registry import REQUESTS, RESPONSES\n"
        "from tidelog.server.requests.registry import HANDLERS\n"
        "Preloading(deferred_modules(has_metrics=False)).finish(); known = set(sys.modules)\n"
        "for key in HANDLERS: assert HANDLERS[key].api_key == key and REQUESTS[key] and RESPONSES[key]\n"
        "from tidelog.server.coordination.coordinators import _groups, _transactions; _groups(), _transactions()\n"
        "print(sorted(set(sys.modules) - known))"
    )
    assert in_fresh_interpreter(script) == "[]"
