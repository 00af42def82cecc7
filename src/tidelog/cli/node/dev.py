"""`tidelog dev`: a broker for development, ready at once. Formats its directory itself, listens on this machine only,
and says what to try next.
"""

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_command, pair
from tidelog.cli.node.log_options import add_log_options, early_warnings

if TYPE_CHECKING:
    from tidelog.config import BrokerConfig
    from tidelog.io.run import Runner

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_DIRECTORY = "tidelog-data"
PORT_MAX = 65_535
DESCRIPTION = """\
Run a broker for development: one node that is its own controller. It formats its directory by itself, listens on this
machine only, and says what to try next. SIGTERM and Ctrl-C stop it in order, with exit code 0.
"""
EXAMPLES = """\
  tidelog dev                                    on 127.0.0.1:9092, data in ./tidelog-data
  tidelog dev --ephemeral --port 0               any free port, and nothing is left behind
  tidelog dev --host 0.0.0.0                     for other machines too
  tidelog dev --host 0.0.0.0 --advertise localhost:9092        in a container, with `docker run -p 9092:9092`
  tidelog dev --override num.partitions=4 --override log.retention.minutes=10
"""


def add_parser(commands: "Commands") -> None:
    help_text = "a broker for development: one command, ready at once"
    parser = add_command(commands, "dev", help_text, description=DESCRIPTION, examples=EXAMPLES, has_json=False)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--dir", default=DEFAULT_DIRECTORY, help="keep the data here (%(default)s)")
    where.add_argument("--ephemeral", action="store_true", help="data in a temporary directory, gone when it stops")
    parser.add_argument("--host", default="127.0.0.1", help="listen on this address (%(default)s); 0.0.0.0: on all")
    parser.add_argument("--port", type=port, default=9092, help="and on this port (%(default)s); 0: on a free one")
    parser.add_argument(
        "--advertise",
        metavar="HOST:PORT",
        type=advertised_address,
        help="tell clients to connect here, when they can not reach the address of the listener: behind NAT, or in a "
        "container with a published port. Unless told, a client hears the address by which it connected",
    )
    parser.add_argument(
        "--metrics-port",
        metavar="PORT",
        type=port,
        help="tell metrics (/metrics) and health (/healthz, /readyz) over HTTP on this port; 0: on a free one",
    )
    parser.add_argument(
        "--override", metavar="KEY=VALUE", type=pair, action="append", default=[], help="any setting of a broker"
    )
    add_log_options(parser)
    parser.add_argument("--json", action="store_true", help="say as a JSON object that it is ready, and where")
    parser.set_defaults(run=run)


def port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > PORT_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to {PORT_MAX}")
    return int(text)


def advertised_address(text: str) -> str:
    host, colon, number = text.rpartition(":")
    if not colon or not host or "://" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    if host in ("0.0.0.0", "[::]", "::"):
        raise argparse.ArgumentTypeError(f"{host} is no address that a client can connect to")
    port(number)
    return text


def run(options: argparse.Namespace) -> int:
    # Imported when it runs, not when its help is shown: this is the whole node.
    from tidelog.io.garbage import spare_the_start

    spare_the_start()
    tell = early_warnings(options)
    from tidelog.cli.node.running import run_node

    with _directory(options) as directory:
        config = _config(directory, options, tell)
        return run_node(
            config,
            json_logs=options.json_logs,
            log_level=options.log_level,
            busy_port="`--port 0` takes a free one",
            on_ready=lambda runner: _welcome(runner, config, options, directory),
        )


def _config(directory: str, options: argparse.Namespace, tell: Callable[[str], None]) -> "BrokerConfig":
    from tidelog.cli.failing import CommandFailed, WrongUsage
    from tidelog.cli.node.server_properties import OVERRIDE
    from tidelog.config import ConfigError, sum_up
    from tidelog.io.development import DevelopmentNode, development_config, format_if_new
    from tidelog.ports.errors import StorageFault
    from tidelog.server.node.formatting import FormatError
    from tidelog.storage.errors import LogError

    overrides = dict(options.override)
    if options.metrics_port is not None:
        host = f"[{options.host}]" if ":" in options.host else options.host
        overrides["metrics.listener"] = f"{host}:{options.metrics_port}"
    node = DevelopmentNode(directory, options.host, options.port, options.advertise, overrides)
    try:
        loaded = development_config(node, OVERRIDE)
    except ConfigError as error:
        raise WrongUsage(str(error)) from error
    for line in sum_up(loaded.warnings):
        tell(line)
    config = loaded.config
    try:
        format_if_new(config)
    except (FormatError, StorageFault, LogError, OSError) as error:
        raise CommandFailed(f"{directory} can not hold the data: {error}; choose another with --dir") from error
    return config


@contextlib.contextmanager
def _directory(options: argparse.Namespace) -> Iterator[str]:
    if not options.ephemeral:
        yield os.path.abspath(options.dir)
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tidelog-") as directory:
        yield directory


def _welcome(runner: "Runner", config: "BrokerConfig", options: argparse.Namespace, directory: str) -> None:
    from tidelog.cli.output.ready_text import say_ready, served

    address = served(runner, config)[0].bound
    # A wildcard is for listening; whoever is on this machine connects by loopback.
    address = address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]")
    tips = (
        f"echo hello | tidelog produce -b {address} greetings",
        f"tidelog consume -b {address} greetings --from beginning --exit",
        f"tidelog topics list -b {address}",
    )
    say_ready(runner, config, as_json=options.json, tips=tips, data=data_text(config, options, directory))


def data_text(config: "BrokerConfig", options: argparse.Namespace, directory: str) -> str:
    """Return where the data is; an override of log.dirs wins over the other options."""
    if config.log_dirs != (directory,):
        return ", ".join(config.log_dirs)
    return "nowhere: it is gone when this stops (--ephemeral)" if options.ephemeral else options.dir
