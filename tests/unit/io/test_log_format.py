"""One log entry is one line, whatever is in it."""

import json
import logging
import sys
from typing import Any

import pytest

from tidelog.io.log_format import JsonFormatter, TextFormatter


def record(text: str, *args: object, **extra: Any) -> logging.LogRecord:
    made = logging.LogRecord("tidelog.server", logging.WARNING, "file", 1, text, args, None)
    made.__dict__.update(extra)
    return made


def test_fields_become_fields_and_can_not_take_the_place_of_others() -> None:
    fields = {"topic": "orders", "partition": 7, "level": "NONE", "when": object}
    entry = json.loads(JsonFormatter().format(record("%s is %s", "it", "so", fields=fields)))
    assert (entry["topic"], entry["partition"]) == ("orders", 7)
    assert (entry["level"], entry["message"], entry["logger"]) == ("WARNING", "it is so", "tidelog.server")
    assert next(iter(entry)) == "time"


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_a_name_that_a_client_chose_can_not_begin_a_line(formatter: logging.Formatter) -> None:
    line = formatter.format(record("from %s", "me\n2026-01-01 00:00:00 ERROR   all is lost\r\x1b[2J\u2028x"))
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


def test_a_stack_is_kept() -> None:
    try:
        raise ValueError("why")
    except ValueError:
        failed = record("failed", exc_info=sys.exc_info())
    assert "ValueError: why" in TextFormatter().format(failed)
    assert "ValueError: why" in json.loads(JsonFormatter().format(failed))["exception"]
