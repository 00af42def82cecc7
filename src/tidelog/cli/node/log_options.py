"""The log of a node in the foreground: its options, and the warnings about its settings, which come before the node.

With `--json-logs` everything from the first warning on is JSON: whoever reads the log as JSON reads all of it.
"""

import argparse
from collections.abc import Callable

from tidelog.cli.failing import warn

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
LEVEL_HELP = (
    "tell what matters this much, and more (%(default)s). DEBUG has a line for each request but those of the produce "
    "path, and names the logs that were rebuilt after a crash"
)


def add_log_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json-logs", action="store_true", help="log lines as JSON")
    parser.add_argument("--log-level", metavar="LEVEL", choices=LOG_LEVELS, default="INFO", help=LEVEL_HELP)


def early_warnings(options: argparse.Namespace) -> Callable[[str], None]:
    """Return what reports a warning before the node is there: in plain words, or as a line of the log where that is
    JSON."""
    if not options.json_logs:
        return warn
    import logging

    from tidelog.io.log_format import set_up_logging

    set_up_logging(options.json_logs, options.log_level)
    return logging.getLogger("tidelog").warning
