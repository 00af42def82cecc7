"""What every command that talks to a cluster has in common: where the cluster is, and how its errors are told."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tidelog.cli.failing import CommandFailed, WrongUsage
from tidelog.cli.parsers import add_command
from tidelog.client.client import Client
from tidelog.client.errors import CannotConnect, ClientError

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

BOOTSTRAP_VARIABLE: Final = "TIDELOG_BOOTSTRAP"
DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"
ELSEWHERE_STEP: Final = (
    f"a broker that runs elsewhere is named by -b HOST:PORT, or by the variable {BOOTSTRAP_VARIABLE}"
)


def add_client_command(
    actions: "Actions", name: str, help_text: str, *, description: str = "", examples: str = ""
) -> argparse.ArgumentParser:
    parser = add_command(actions, name, help_text, description=description, examples=examples)
    parser.add_argument(
        "-b",
        "--bootstrap",
        metavar="HOST:PORT,...",
        default=None,
        help=f"some brokers of the cluster ({DEFAULT_BOOTSTRAP}, or what {BOOTSTRAP_VARIABLE} says)",
    )
    return parser


def bootstrap_of(options: argparse.Namespace) -> str:
    return str(options.bootstrap or os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP)


@contextlib.contextmanager
def connected(options: argparse.Namespace) -> Iterator[Client]:
    """A client of the cluster. Whatever it refuses ends the command, with the reason and the next step."""
    try:
        client = Client(bootstrap_of(options))
    except ValueError as error:
        raise WrongUsage(str(error)) from error
    try:
        with client:
            yield client
    except CannotConnect as error:
        raise CommandFailed(f"{error}\n{ELSEWHERE_STEP}") from error
    except ClientError as error:
        raise CommandFailed(str(error)) from error


def confirmed(question: str, options: argparse.Namespace) -> None:
    """Ask before something is gone for good, but only somebody who can answer: a script has meant it."""
    if options.yes or not sys.stdin.isatty():
        return
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandFailed("left as it was")
