"""`tidelog demo`: something to look at. One file an action."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_actions, add_command
from tidelog.cli.spark import demo_traffic

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_parser(commands: "Commands") -> None:
    help_text = "traffic of a shop, from a seed, to try pipelines on"
    parser = add_command(commands, "demo", help_text, examples=demo_traffic.EXAMPLES, has_json=False)
    demo_traffic.add_traffic(add_actions(parser))
