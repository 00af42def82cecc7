"""`tidelog log`: looking at the files of a log without a broker; nothing changes them but `repair`, when told to."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.log import dump as log_dump
from tidelog.cli.log import repair as log_repair
from tidelog.cli.log import verify as log_verify

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(commands: "Commands") -> None:
    parser = commands.add_parser("log", help="look at the files of a log, offline, and repair them")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    log_dump.add_parser(actions)
    log_verify.add_parser(actions)
    log_repair.add_parser(actions)
