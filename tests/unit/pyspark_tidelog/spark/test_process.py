"""Which process this is, and that our message comes without a traceback where Spark would send one."""

import gc
import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from pyspark_tidelog.errors import TidelogError
from pyspark_tidelog.spark.process import (
    HIDE_TRACEBACK,
    PUSHING_FILTERS,
    is_pushing_filters,
    keep_what_is_imported,
    message_first,
    without_collections,
)
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode


@pytest.fixture(autouse=True)
def _no_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HIDE_TRACEBACK, "")


def run_as(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    main = ModuleType("__main__")
    main.__spec__ = ModuleSpec(module, None)
    monkeypatch.setitem(sys.modules, "__main__", main)


def fail(error: Exception) -> None:
    with message_first("plan the read"):
        raise error


@pytest.mark.parametrize("module", ["pyspark.daemon", "pyspark.sql.streaming.python_streaming_source_runner"])
def test_a_worker_hides_the_traceback_of_our_errors(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    run_as(monkeypatch, module)
    with pytest.raises(TidelogError, match=r"^this went wrong$"):
        fail(TidelogError("this went wrong"))
    assert os.environ[HIDE_TRACEBACK] == "1"


def test_a_worker_shows_the_traceback_of_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    run_as(monkeypatch, "pyspark.daemon")
    with pytest.raises(ZeroDivisionError):
        fail(ZeroDivisionError())
    assert os.environ[HIDE_TRACEBACK] == ""


def test_a_users_own_process_is_left_alone() -> None:
    with pytest.raises(TidelogError):
        fail(TidelogError("this went wrong"))
    assert os.environ[HIDE_TRACEBACK] == ""


def test_an_error_of_the_client_says_what_we_were_about() -> None:
    with pytest.raises(TidelogError, match=r"^plan the read: NOT_CONTROLLER"):
        fail(ClientError(ErrorCode.NOT_CONTROLLER, "find the topics", "broker 1"))


def test_filters_are_pushed_only_in_the_worker_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, PUSHING_FILTERS, raising=False)
    run_as(monkeypatch, "pyspark.daemon")
    assert not is_pushing_filters()
    monkeypatch.setitem(sys.modules, PUSHING_FILTERS, ModuleType(PUSHING_FILTERS))
    assert is_pushing_filters()
    monkeypatch.delitem(sys.modules, PUSHING_FILTERS)
    run_as(monkeypatch, PUSHING_FILTERS)
    assert is_pushing_filters()


@pytest.mark.parametrize(("module", "is_kept"), [("pyspark.daemon", True), ("a_job", False)])
def test_modules_of_a_worker_are_no_garbage(monkeypatch: pytest.MonkeyPatch, module: str, is_kept: bool) -> None:
    run_as(monkeypatch, module)
    keep_what_is_imported.cache_clear()
    gc.unfreeze()
    try:
        keep_what_is_imported()
        assert (gc.get_freeze_count() > 0) is is_kept
    finally:
        gc.unfreeze()
        keep_what_is_imported.cache_clear()


def test_nothing_is_collected_for_a_while() -> None:
    with without_collections():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collections_go_on_after_an_error() -> None:
    with pytest.raises(TidelogError), without_collections():
        raise TidelogError("this went wrong")
    assert gc.isenabled()


def test_planning_does_not_import_what_reads() -> None:
    """Half of what a query waits for at its start is imports."""
    program = "import sys, pyspark_tidelog.source.stream_reader, pyspark_tidelog.source.batch_reader\n"
    program += "sys.exit('pyspark_tidelog.source.record_batches' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
