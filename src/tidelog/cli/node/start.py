"""`tidelog start`: a node as its server.properties says, in the foreground, until SIGTERM or Ctrl-C."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_command, pair
from tidelog.cli.failing import WrongUsage
from tidelog.cli.node.log_options import add_log_options, early_warnings

if TYPE_CHECKING:
    from tidelog.config import BrokerConfig

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Run a broker as its server.properties says, in the foreground. Its log directories have to be formatted (`tidelog
format`). SIGTERM and Ctrl-C stop it in order, with exit code 0; a second one stops it at once. SIGHUP reads the file
again and applies what can be changed in a running broker.
"""
EXAMPLES = """\
  tidelog start server.properties
  tidelog start server.properties --override log.retention.hours=24 --override num.partitions=3
"""


def add_parser(commands: "Commands") -> None:
    parser = add_command(
        commands,
        "start",
        "run a broker as its server.properties says",
        description=DESCRIPTION,
        examples=EXAMPLES,
        has_json=False,
    )
    parser.add_argument("file", metavar="FILE", help="the node's server.properties")
    parser.add_argument(
        "--override",
        metavar="KEY=VALUE",
        type=pair,
        action="append",
        default=[],
        help="a setting that wins over the file",
    )
    add_log_options(parser)
    parser.add_argument("--json", action="store_true", help="say as a JSON object that it is ready, and where")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    # Imported when it runs, not when its help is shown: this is the whole node, and a wrong file is said without it.
    from tidelog.io.garbage import spare_the_start

    spare_the_start()
    tell = early_warnings(options)
    from tidelog.cli.node.server_properties import read_config

    def read_again() -> "BrokerConfig":
        try:
            return read_config(options.file, dict(options.override), again=True, tell=tell)
        except WrongUsage as error:
            raise ReloadRefused(str(error)) from error

    config = read_config(options.file, dict(options.override), tell=tell)
    from tidelog.cli.node.running import run_node
    from tidelog.cli.output.ready_text import say_ready
    from tidelog.io.run import ReloadRefused

    return run_node(
        config,
        json_logs=options.json_logs,
        log_level=options.log_level,
        on_ready=lambda runner: say_ready(runner, config, as_json=options.json),
        read_config=read_again,
    )
