"""Which commands there are. One line each, with no import: a command pays for its own module only, and `tidelog --help`
for none of them, because a node has 0.4 s from the first byte of Python to its first answer.

A command's module has `add_parser(commands)`, which adds its parser under its name and with the help text of this
table (a test holds them to it).
"""

import argparse
import importlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tidelog.cli.arguments.parsers import HelpFormatter, Parser, epilog

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


class Command(NamedTuple):
    name: str
    module: str  # below tidelog.cli
    help: str


COMMANDS: Final = (
    Command("dev", "node.dev", "a broker for development: one command, ready at once"),
    Command("start", "node.start", "run a broker as its server.properties says"),
    Command("format", "node.format", "prepare the log directories of a new node"),
    Command("random-uuid", "node.random_uuid", "make an id for a new cluster"),
    Command("topics", "topics.command", "create, list, describe, alter, delete and truncate topics"),
    Command("configs", "cluster.configs", "show and change the settings of topics, brokers and groups"),
    Command("produce", "produce.command", "write records from standard input or a file"),
    Command("consume", "consume.command", "read records to standard output"),
    Command("groups", "groups.command", "consumer groups: members, offsets, lag; moving and deleting offsets"),
    Command("transactions", "transactions.command", "transactions: who has one open, and ending those that hang"),
    Command("cluster", "cluster.command", "who is in the cluster, and how it is"),
    Command("perf", "perf.command", "how fast it goes: produce, consume, latency"),
    Command("demo", "spark.demo", "traffic of a shop, from a seed, to try pipelines on"),
    Command("spark-shell", "spark.shell", "PySpark's shell, ready to read and write topics"),
    Command("spark-submit", "spark.submit", "run a PySpark job that reads and writes topics"),
    Command("log", "log.command", "look at the files of a log, offline, and repair them"),
    Command("completion", "arguments.completion", "a script that completes commands and options in your shell"),
    Command("version", "version", "print the version, and whether the compiled modules are in use"),
)
NAMES: Final = tuple(command.name for command in COMMANDS)

DESCRIPTION: Final = "A distributed commit log that speaks Kafka's protocol."
EXAMPLES: Final = """\
  tidelog dev                                        a broker on 127.0.0.1:9092, data in ./tidelog-data
  echo hello | tidelog produce greetings             write to it
  tidelog consume greetings --from beginning --exit  read it back
"""


class ShowVersion(argparse.Action):
    """The action of `--version`: prints the version and ends, whatever else is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from tidelog.cli.version import version_line  # imported only for those who ask

        print(version_line())
        parser.exit()


def build_parser(wanted: tuple[str, ...], *, with_others: bool = True) -> argparse.ArgumentParser:
    """Return the parser with the commands in `wanted` whole; of the others (`with_others`) only the name and the help
    text."""
    parser = Parser(
        prog="tidelog",
        description=DESCRIPTION,
        epilog=f"{epilog(EXAMPLES)}\n\n`tidelog COMMAND --help` says more about one command.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="the same as `tidelog version`")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True, prog="tidelog")
    for command in COMMANDS:
        if command.name in wanted:
            importlib.import_module(f"tidelog.cli.{command.module}").add_parser(commands)
        elif with_others:
            commands.add_parser(command.name, help=command.help)
    return parser
