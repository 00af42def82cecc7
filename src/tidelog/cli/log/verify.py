"""`tidelog log verify`: whether a data directory keeps all the promises that its files make.

Exit code 0: nothing is wrong; 1: something is, or (with --strict) is left for the next start of a broker to repair.
"""

import argparse
import os
from typing import TYPE_CHECKING

from tidelog.cli.log.verify_reports import JsonReport, Report, TextReport
from tidelog.io.files import PosixFileSystem
from tidelog.storage.inspect.verify import VerifyOptions, verify_directory

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Check a log directory, or the directory of one partition, without changing anything: identity, checkpoints, the
order of segments and batches, every checksum, leader epochs, the three indexes, producer snapshots, left-overs.
The broker that owns the directory must not be running.
"""


def add_parser(actions: "Actions") -> None:
    parser = actions.add_parser("verify", help="check every invariant of a data directory", description=DESCRIPTION)
    parser.add_argument("directory", metavar="DIR", help="a log directory, or the directory of one partition")
    parser.add_argument("--records", action="store_true", help="look into every record too, which takes longer")
    parser.add_argument(
        "--compacted",
        action="append",
        default=[],
        metavar="TOPIC",
        help="a compacted topic, in which offsets may be missing; topics that the cleaner has been at are known",
    )
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    fs = PosixFileSystem()
    report: Report = JsonReport() if options.json else TextReport()
    verify_options = VerifyOptions(options.records, tuple(options.compacted))
    try:
        for item in verify_directory(fs, os.path.abspath(options.directory), verify_options):
            report.add(item)
    finally:
        report.close()
        fs.close()
    report.conclude()
    return 1 if report.errors or (options.strict and report.warnings) else 0
