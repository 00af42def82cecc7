"""Which of Spark's Python processes is this, and how does it tell the user what went wrong?

Spark runs a data source in worker processes (`python -m pyspark.daemon <module>`, or `python -m <module>`): one module
plans, another plans with filters, another reads. A worker sends an error to the JVM as the text of its traceback, in
which our message would be the last line of thirty. Spark has a switch that leaves the traceback out, read when the
error is sent; a worker ends with its first error, so to set it then concerns nobody else. Errors that are not ours are
bugs, and keep their traceback.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from pyspark_tidelog.errors import TidelogError, told

PUSHING_FILTERS: Final = "pyspark.sql.worker.data_source_pushdown_filters"
HIDE_TRACEBACK: Final = "SPARK_HIDE_TRACEBACK"


def is_worker() -> bool:
    return _main_module().startswith("pyspark.")


def is_pushing_filters() -> bool:
    """A reader that overrides `pushFilters` is an error unless the user has switched push-down on, and a reader is not
    told whether. But this worker is only ever started when it is."""
    return _main_module() == PUSHING_FILTERS or PUSHING_FILTERS in sys.modules


def _main_module() -> str:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return "" if spec is None else str(spec.name)


@contextmanager
def message_first(doing: str) -> Iterator[None]:
    """Errors of the client become ours (`doing`: what we were about, in the user's words), and ours come without a
    traceback before them."""
    try:
        with told(doing):
            yield
    except TidelogError:
        hide_traceback()
        raise


def hide_traceback() -> None:
    """Of the error that is about to be raised."""
    if is_worker():
        os.environ[HIDE_TRACEBACK] = "1"


@contextmanager
def without_collections() -> Iterator[None]:
    """While much is made that lives on, as in planning: the collector would look through it again and again, a quarter
    of the time that ten thousand partitions take, and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def keep_what_is_imported() -> None:
    """Once in a worker, when it has imported what a task needs. Spark's daemon collects garbage after every task, and
    that walks over every object of every module: 50 ms of CPU a task, many times what a small micro-batch costs. The
    modules stay for good, so they are taken out of the collector's sight."""
    if is_worker():
        gc.freeze()
