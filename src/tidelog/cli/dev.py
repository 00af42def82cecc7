"""`tidelog dev`: a broker for development, ready at once. Formats its directory itself, listens on this machine only,
and says what to try next.
"""

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from tidelog.cli.node_running import exit_with, run_node, shown
from tidelog.config import ConfigError
from tidelog.io.development import DevelopmentNode, development_config, format_if_new
from tidelog.io.run import Runner

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

DEFAULT_DIRECTORY = Path("tidelog-data")


def add_parser(commands: "Commands") -> None:
    parser = commands.add_parser("dev", help="a broker for development: one command, ready at once")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--dir", type=Path, default=DEFAULT_DIRECTORY, help="keep the data here (%(default)s)")
    where.add_argument("--ephemeral", action="store_true", help="keep the data nowhere: gone when it stops")
    parser.add_argument("--host", default="127.0.0.1", help="listen on this address (%(default)s)")
    parser.add_argument("--port", type=int, default=9092, help="and on this port; 0: a free one (%(default)s)")
    parser.add_argument("--advertise", metavar="HOST:PORT", help="what clients are told, behind NAT or in a container")
    parser.add_argument("--override", metavar="KEY=VALUE", action="append", default=[], help="any broker setting")
    parser.add_argument("--json-logs", action="store_true", help="log lines as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with _directory(options) as directory:
        try:
            node = DevelopmentNode(
                directory, options.host, options.port, options.advertise, _overrides(options.override)
            )
            config = development_config(node)
        except (ConfigError, ValueError) as error:
            return exit_with(str(error))
        format_if_new(config)
        return run_node(config, json_logs=options.json_logs, on_ready=lambda runner: _welcome(runner, options))


@contextlib.contextmanager
def _directory(options: argparse.Namespace) -> Iterator[Path]:
    if not options.ephemeral:
        yield options.dir.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="tidelog-") as directory:
        yield Path(directory)


def _overrides(pairs: list[str]) -> dict[str, str]:
    overrides = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--override takes KEY=VALUE, not {pair!r}")
        overrides[name.strip()] = value.strip()
    return overrides


def _welcome(runner: Runner, options: argparse.Namespace) -> None:
    address = shown(runner.bound["PLAINTEXT"])
    console = Console(highlight=False, soft_wrap=True)
    told = options.advertise or "the address by which they connect"
    data = "nowhere (--ephemeral)" if options.ephemeral else str(options.dir)
    console.print(f"[bold green]Tidelog is ready[/] on [bold]{address}[/]   (Ctrl-C stops it)")
    console.print(f"  data      {data}")
    console.print(f"  clients   are told {told}")
    console.print("  try")
    console.print(f"    echo hello | tidelog produce -b {address} greetings")
    console.print(f"    tidelog consume -b {address} greetings --from beginning --exit")
    console.print(f"    tidelog topics list -b {address}")
