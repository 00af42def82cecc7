"""Tells which of Spark's Python processes this is, and brings errors to the user with our message first.

Spark runs a data source in worker processes (`python -m pyspark.daemon <module>`, or `python -m <module>`): one module
plans, another plans with filters, another reads. A worker sends an error to the JVM as the text of its traceback, in
which our message would be the last line of thirty. Spark has a switch that leaves the traceback out, which it reads
when it sends the error. A worker ends with its first error, so the switch affects no other error. Errors that are not
ours are bugs, and keep their traceback.
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
    """Tell whether the user has switched push-down of filters on. Spark does not tell a reader, and refuses one that
    overrides `pushFilters` while push-down is off; but it starts the worker module PUSHING_FILTERS only while it is
    on."""
    return _main_module() == PUSHING_FILTERS or PUSHING_FILTERS in sys.modules


def _main_module() -> str:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return "" if spec is None else str(spec.name)


@contextmanager
def message_first(doing: str) -> Iterator[None]:
    """Raise errors of the client as ours, and hide the traceback before ours. `doing`: what is being done, in the
    user's words."""
    try:
        with told(doing):
            yield
    except TidelogError:
        hide_traceback()
        raise


def hide_traceback() -> None:
    """Have Spark leave out the traceback of the error that is about to be raised, where this process is a worker."""
    if is_worker():
        os.environ[HIDE_TRACEBACK] = "1"


@contextmanager
def without_collections() -> Iterator[None]:
    """Switch the garbage collector off while many objects are made that live on, as in planning. It would walk through
    them again and again, a quarter of the time that ten thousand partitions take, and find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@cache
def keep_what_is_imported() -> None:
    """Take the imported modules out of the garbage collector's sight, once in a worker, when it has imported what a
    task needs. Spark's daemon collects garbage after every task, which walks over every object of every module: 50 ms
    of CPU a task, many times what a small micro-batch costs. The modules stay for good."""
    if is_worker():
        gc.freeze()
