"""What every command that talks to a cluster has in common: where the cluster is, and how its errors are told."""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tidelog.cli.arguments.parsers import add_command
from tidelog.cli.arguments.spelling import did_you_mean
from tidelog.cli.failing import CommandFailed, WrongUsage
from tidelog.client.client import Client
from tidelog.client.errors import CannotConnect, ClientError
from tidelog.model.errors import ErrorCode

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

BOOTSTRAP_VARIABLE: Final = "TIDELOG_BOOTSTRAP"
DEFAULT_BOOTSTRAP: Final = "127.0.0.1:9092"
ELSEWHERE_STEP: Final = (
    f"a broker that runs elsewhere is named by -b HOST:PORT, or by the variable {BOOTSTRAP_VARIABLE}"
)
_NAMED: Final = re.compile(r"\b(topic|group) (\S+)$")  # the end of "describe topic orders"
_NOT_THERE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND)


def add_client_command(
    actions: "Actions", name: str, help_text: str, *, description: str = "", examples: str = ""
) -> argparse.ArgumentParser:
    parser = add_command(actions, name, help_text, description=description, examples=examples)
    parser.add_argument(
        "-b",
        "--bootstrap",
        "--bootstrap-server",
        dest="bootstrap",
        metavar="HOST:PORT,...",
        default=None,
        help=f"some brokers of the cluster ({DEFAULT_BOOTSTRAP}, or what {BOOTSTRAP_VARIABLE} says)",
    )
    return parser


def bootstrap_of(options: argparse.Namespace) -> str:
    return str(options.bootstrap or os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP)


@contextlib.contextmanager
def connected(options: argparse.Namespace) -> Iterator[Client]:
    """Yield a client of the cluster. Whatever it refuses ends the command, with the reason and the next step."""
    try:
        client = Client(bootstrap_of(options))
    except ValueError as error:
        raise WrongUsage(str(error)) from error
    try:
        with client:
            try:
                yield client
            except ClientError as error:
                raise explained(client, error) from error.__cause__
    except CannotConnect as error:
        raise CommandFailed(f"{error}\n{ELSEWHERE_STEP}") from error
    except ClientError as error:
        raise CommandFailed(str(error)) from error


def explained(client: Client, error: ClientError) -> ClientError:
    """Return the error; where it says that a topic or group does not exist, with names that look like it."""
    named = _NAMED.search(error.asked)
    if error.code in _NOT_THERE and named is not None and "did you mean" not in error.step:
        with contextlib.suppress(ClientError):  # of the two errors the first is the one to report
            hint = did_you_mean(named[2], _names(client, named[1]))
            error.step = f"{hint.removeprefix('; ')} Otherwise {error.step}" if hint else error.step
    return error


def _names(client: Client, kind: str) -> list[str]:
    from tidelog.client.admin.admin_client import (
        Admin,
    )  # imported here: `consume` and `produce` need it only for an error

    admin = Admin(client)
    return [each.name for each in admin.list_topics()] if kind == "topic" else [g.group_id for g in admin.list_groups()]


def confirmed(question: str, options: argparse.Namespace) -> None:
    """Ask before something is gone for good, but only somebody at a terminal: a script has meant it."""
    if options.yes or not sys.stdin.isatty():
        return
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandFailed("left as it was")
