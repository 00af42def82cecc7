"""Which commands there are. One line each, with no import: a command pays for its own module only, and `tidelog --help`
for none of them, because a node has 0.4 s from the first byte of Python to its first answer.

A command's module has `add_parser(commands)`, which adds its parser under its name and with the help text of this
table (a test holds them to it).
"""

import argparse
import importlib
from typing import TYPE_CHECKING, Final, NamedTuple

from tidelog.cli.parsers import HelpFormatter, epilog

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


class Command(NamedTuple):
    name: str
    help: str

    @property
    def module(self) -> str:
        return f"tidelog.cli.{self.name.replace('-', '_')}"


COMMANDS: Final = (
    Command("dev", "a broker for development: one command, ready at once"),
    Command("start", "run a broker as its server.properties says"),
    Command("format", "prepare the log directories of a new node"),
    Command("random-uuid", "make an id for a new cluster"),
    Command("topics", "create, list, describe, alter, delete and truncate topics"),
    Command("configs", "show and change the settings of topics, brokers and groups"),
    Command("produce", "write records from standard input or a file"),
    Command("consume", "read records to standard output"),
    Command("groups", "consumer groups: members, offsets, lag; moving and deleting offsets"),
    Command("transactions", "transactions: who has one open, and ending those that hang"),
    Command("cluster", "who is in the cluster, and how it is"),
    Command("perf", "how fast it goes: produce, consume, latency"),
    Command("demo", "traffic of a shop, from a seed, to try pipelines on"),
    Command("spark-shell", "PySpark's shell, ready to read and write topics"),
    Command("spark-submit", "run a PySpark job that reads and writes topics"),
    Command("log", "look at the files of a log, offline, and repair them"),
    Command("completion", "a script that completes commands and options in your shell"),
    Command("version", "print the version, and whether the compiled kernels are in use"),
)
NAMES: Final = tuple(command.name for command in COMMANDS)

DESCRIPTION: Final = "A distributed commit log that speaks Kafka's protocol."
EXAMPLES: Final = """\
  tidelog dev                                        a broker on 127.0.0.1:9092, data in ./tidelog-data
  echo hello | tidelog produce greetings             write to it
  tidelog consume greetings --from beginning --exit  read it back
"""


def build_parser(wanted: tuple[str, ...]) -> argparse.ArgumentParser:
    """The commands in `wanted` whole, of the others the name and the help text."""
    parser = argparse.ArgumentParser(
        prog="tidelog",
        description=DESCRIPTION,
        epilog=f"{epilog(EXAMPLES)}\n\n`tidelog COMMAND --help` says more about one command.",
        formatter_class=HelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        if command.name in wanted:
            importlib.import_module(command.module).add_parser(commands)
        else:
            commands.add_parser(command.name, help=command.help)
    return parser
