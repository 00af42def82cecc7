"""`tidelog log repair`: what is damaged where it was durable, and a way out that loses nothing silently.

Exit code 0: nothing is damaged, or all of it is repaired; 1: there is damage; 2: refused, a broker is running.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape

from tidelog.cli.output.tables import make_console
from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import LockHeld, StorageFault
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.directories.log_directory import LOCK_NAME
from tidelog.storage.errors import InvalidNameError, LogError
from tidelog.storage.inspect.damage import Damage, find_damage
from tidelog.storage.inspect.repair import start_over, truncate
from tidelog.storage.names import DirectoryState, parse_partition_directory, partition_directory

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

Show = Callable[..., None]

REFUSED = 2
DESCRIPTION = """\
Show the replicas of a log directory that a broker would set aside, because they are damaged where they were durable.
With --truncate or --start-over they are repaired; what that takes out of a log is moved into the quarantine, under
its own name, and never deleted. The broker that owns the directory must not be running.
"""
EPILOG = """\
A replica that has a healthy leader elsewhere loses nothing by either: it fetches what is missing. Of a partition
without other replicas, --truncate gives up the records from the damage on, --start-over all of them.
"""


def add_parser(actions: "Actions") -> None:
    parser = actions.add_parser(
        "repair", help="show damaged replicas, and repair them if asked to", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("directory", metavar="DIR", help="a log directory")
    parser.add_argument("--partition", metavar="TOPIC-PARTITION", type=_partition, help="look at this one alone")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--truncate", action="store_true", help="let each damaged log end before its damage")
    ways.add_argument(
        "--start-over",
        action="store_true",
        help="take damaged replicas out as a whole; with --partition also one that is not damaged (of two, the wrong)",
    )
    parser.add_argument("--quarantine", metavar="DIR", help="where to; unless told, beside the log directory")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run)


def _partition(text: str) -> TopicPartition:
    try:
        partition, state = parse_partition_directory(text)
    except InvalidNameError as error:
        raise argparse.ArgumentTypeError(error.reason) from error
    if state is not DirectoryState.CURRENT:
        raise argparse.ArgumentTypeError("a directory that is being moved or deleted")
    return partition


def run(options: argparse.Namespace) -> int:
    fs = PosixFileSystem()
    show = _show_json if options.json else _show_text
    directory = os.path.abspath(options.directory)
    if not os.path.isdir(directory):
        return _refuse(show, f"{directory} is no directory")
    try:
        with locked(fs, directory):
            return Repair(fs, directory, options, show).run()
    except LockHeld as held:
        return _refuse(show, f"a broker is running on it: {held}")
    except (StorageFault, LogError) as error:
        return _refuse(show, str(error))
    finally:
        fs.close()


@contextmanager
def locked(fs: FileSystem, directory: str) -> Iterator[None]:
    """Hold the lock of the directory, so that no broker starts meanwhile."""
    lock = fs.lock(join(directory, LOCK_NAME))
    try:
        yield
    finally:
        lock.release()


class Repair:
    def __init__(self, fs: FileSystem, directory: str, options: argparse.Namespace, show: Show) -> None:
        self._fs = fs
        self._directory = directory
        self._options = options
        self._show = show
        self._stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        self._quarantine = os.path.abspath(options.quarantine or f"{directory}-quarantine")

    def run(self) -> int:
        found = list(find_damage(self._fs, self._directory, self._options.partition))
        for damage in found:
            self._show("damage", partition=str(damage.partition), file=damage.path, position=damage.position,
                       reason=damage.reason, recovery_point=damage.recovery_point,
                       log_end_offset=damage.next_offset, bytes_behind=damage.behind_bytes)  # fmt: skip
        left = [damage for damage in found if not self._repair(damage)]
        if not found and self._options.partition is not None and self._options.start_over:
            self._start_over(self._options.partition, "asked for")
        self._show("summary", damaged=len(found), repaired=len(found) - len(left))
        return 1 if left else 0

    def _repair(self, damage: Damage) -> bool:
        if self._options.start_over:
            self._start_over(damage.partition, damage.reason)
        elif self._options.truncate and damage.can_truncate:
            target = self._target(damage.partition)
            self._done(damage.partition, truncate(self._fs, damage, target), target)
        else:
            return False
        return True

    def _start_over(self, partition: TopicPartition, reason: str) -> None:
        path, target = join(self._directory, partition_directory(*partition)), self._target(partition)
        self._done(partition, start_over(self._fs, path, partition, reason, target), target)

    def _target(self, partition: TopicPartition) -> str:
        return join(self._quarantine, f"{partition_directory(*partition)}.{self._stamp}")

    def _done(self, partition: TopicPartition, names: list[str], target: str) -> None:
        self._show("repaired", partition=str(partition), quarantine=target, files=names)


def _refuse(show: Show, reason: str) -> int:
    show("refused", reason=reason)
    return REFUSED


def _show_json(kind: str, **values: object) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **values}) + "\n")


def _show_text(kind: str, **values: object) -> None:
    make_console().print(escape(_TEXTS[kind].format(**values)), soft_wrap=True)


_TEXTS = {
    "damage": (
        "damaged: {file} at {position}: {reason}\n"
        "  {partition} was durable up to offset {recovery_point}; whole up to {log_end_offset}; "
        "{bytes_behind} bytes from the damage on"
    ),
    "repaired": "repaired: {partition}; what was taken out is in {quarantine}",
    "refused": "refused: {reason}",
    "summary": "{damaged} damaged, {repaired} repaired",
}
