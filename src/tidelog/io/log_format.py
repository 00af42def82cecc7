"""Log lines for people, or as JSON for machines.

What was given as `extra={"fields": {...}}` becomes fields of a JSON line; a text line says it in its message. Either
way nothing in an entry can begin another line: names that clients choose are in there, too.
"""

import json
import logging
import sys
import time

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029)}
_CONTROLS |= {ord("\n"): r"\n", ord("\r"): r"\r", ord("\t"): r"\t"}


class TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%Y-%m-%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.translate(_CONTROLS)
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """A formatter that writes one object for each line. A field cannot take the place of what every line has."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        core: dict[str, object] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry = {**core, **getattr(record, "fields", {}), **core}
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def set_up_logging(as_json: bool, level: str = "INFO") -> None:
    """Log to standard error. `level` is the lowest level that is logged, by its name in `logging`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    root = logging.getLogger("tidelog")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
