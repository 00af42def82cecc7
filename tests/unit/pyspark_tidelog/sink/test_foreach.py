"""What `write_exactly_once` refuses before anything runs."""

from typing import Any

import pytest

from pyspark_tidelog.errors import OptionError, SinkError
from pyspark_tidelog.sink.foreach import write_exactly_once

OPTIONS = {"kafka.bootstrap.servers": "localhost:1", "topic": "t"}


class Session:
    """As much of one as is asked before the write."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.conf = settings


class Frame:
    columns = ("value",)

    def __init__(self, **settings: str) -> None:
        self.sparkSession = Session({name.replace("_", "."): value for name, value in settings.items()})


def frame(**settings: str) -> Any:
    return Frame(**settings)


def test_speculation_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^spark.speculation: .*; set it to false for exactly-once writes"):
        write_exactly_once(frame(spark_speculation="true"), 0, OPTIONS, query_id="q")


def test_nobody_knows_which_query_it_is() -> None:
    with pytest.raises(SinkError, match="it is not known which query writes"):
        write_exactly_once(frame(spark_speculation="false"), 0, OPTIONS)


def test_nothing_to_write() -> None:
    with pytest.raises(SinkError, match="there is nothing to write"):
        write_exactly_once({}, 0, OPTIONS)
