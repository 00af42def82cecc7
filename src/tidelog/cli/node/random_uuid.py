"""`tidelog random-uuid`: an id for a new cluster, as kafka-storage makes them."""

import argparse
import json
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_command
from tidelog.io.entropy import SystemEntropy
from tidelog.model.ids import format_uuid
from tidelog.ports.entropy import random_uuid

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

EXAMPLES = 'tidelog format -t "$(tidelog random-uuid)" -c server.properties'


def add_parser(commands: "Commands") -> None:
    parser = add_command(commands, "random-uuid", "make an id for a new cluster", examples=EXAMPLES)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    text = format_uuid(random_uuid(SystemEntropy()))
    print(json.dumps({"uuid": text}) if options.json else text)
    return 0
