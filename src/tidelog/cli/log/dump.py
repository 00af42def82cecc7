"""`tidelog log dump`: the files of a log as tables for people, or as JSON, a line a thing, for programs.

Exit code 1 when something is wrong with a file; what can be read is shown all the same.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from tidelog.cli.log.decoders import DECODERS, Decoder, decoder_for
from tidelog.cli.output.plain import to_plain
from tidelog.cli.output.tables import DumpTables
from tidelog.io.files import PosixFileSystem
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join, parent_of
from tidelog.storage.inspect.dump import DumpOptions, dump_file, is_log_file
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.rows import Row
from tidelog.storage.inspect.verify import running_broker

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Show what is in the files of a log: .log, .index, .timeindex, .txnindex, .snapshot and .checkpoint files,
checkpoints, partition.metadata, meta.properties, quorum-state. A directory stands for the files in it.
"""
EPILOG = """\
Records of the internal topics are decoded by themselves when their directory has its own name; the decoders
are for copies that lie elsewhere. Exit code 1: something is wrong with a file, and said where.
"""


def add_parser(actions: "Actions") -> None:
    parser = actions.add_parser(
        "dump",
        help="show batches, records, indexes, snapshots and checkpoints",
        description=DESCRIPTION,
        epilog=EPILOG,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file of a log, or a directory with such files")
    parser.add_argument("--records", action="store_true", help="show the records, not only the batches")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with nothing left out")
    parser.add_argument("--verify-index", action="store_true", help="check the indexes against the log beside them")
    decoders = parser.add_mutually_exclusive_group()
    for name in DECODERS:
        help_text = f"decode the records as those of the {name.replace('-', ' ')} topic; implies --records"
        decoders.add_argument(f"--{name}-decoder", dest="decoder", action="store_const", const=name, help=help_text)
    parser.set_defaults(run=run)


class Output(Protocol):
    def begin_file(self, path: str) -> None: ...
    def show(self, row: Row) -> None: ...
    def report(self, finding: Finding) -> None: ...
    def end_file(self) -> None: ...


def run(options: argparse.Namespace) -> int:
    fs = PosixFileSystem()
    output: Output = JsonLines() if options.json else DumpTables(records=_wants_records(options))
    try:
        paths = list(_paths(fs, options.files))
        _warn_of_brokers(fs, paths)
        problems = [_dump_one(fs, path, options, output) for path in paths]
    finally:
        fs.close()
    return 1 if any(problems) else 0


def _warn_of_brokers(fs: FileSystem, paths: list[str]) -> None:
    """Warn on standard error of a running broker: what it is just writing may be shown half."""
    for directory in dict.fromkeys(parent_of(path) for path in paths):
        running = running_broker(fs, directory)
        if running is not None:
            sys.stderr.write(f"warning: {running.where} is {running.reason}\n")


def _wants_records(options: argparse.Namespace) -> bool:
    return bool(options.records or options.decoder)


def _paths(fs: FileSystem, given: list[str]) -> Iterator[str]:
    for path in map(os.path.abspath, given):
        if os.path.isdir(path):
            yield from (join(path, name) for name in fs.list_directory(path) if is_log_file(name))
        else:
            yield path


def _dump_one(fs: FileSystem, path: str, options: argparse.Namespace, output: Output) -> bool:
    """Show one file; return whether something was wrong with it."""
    decoder: Decoder | None = DECODERS[options.decoder] if options.decoder else decoder_for(path)
    found_problem = False
    output.begin_file(path)
    for item in dump_file(fs, path, DumpOptions(_wants_records(options), options.verify_index, decoder)):
        if isinstance(item, Finding):
            found_problem = True
            output.report(item)
        else:
            output.show(item)
    output.end_file()
    return found_problem


class JsonLines:
    def __init__(self) -> None:
        self._path = ""

    def begin_file(self, path: str) -> None:
        self._path = path

    def show(self, row: Row) -> None:
        self._write({"file": self._path, "kind": row.kind, **to_plain(row.values)})

    def report(self, finding: Finding) -> None:
        where = {"file": finding.path, "kind": "finding", "severity": finding.severity.value}
        self._write({**where, "position": finding.position, "reason": finding.reason})

    def end_file(self) -> None:
        """Do nothing: each line was written when it came."""

    def _write(self, line: dict[str, object]) -> None:
        sys.stdout.write(json.dumps(line) + "\n")
