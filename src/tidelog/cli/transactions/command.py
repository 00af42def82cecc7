"""`tidelog transactions`: who has one open, and ending those that hang. One file an action that has more to it."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_actions, add_command
from tidelog.cli.transactions import changes as transaction_changes
from tidelog.cli.transactions import hanging as transaction_hanging
from tidelog.cli.transactions import views as transaction_views

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

EXAMPLES = """\
  tidelog transactions list --state Ongoing
  tidelog transactions describe billing-1
  tidelog transactions find-hanging
"""


def add_parser(commands: "Commands") -> None:
    help_text = "transactions: who has one open, and ending those that hang"
    parser = add_command(commands, "transactions", help_text, examples=EXAMPLES, has_json=False)
    actions = add_actions(parser)
    transaction_views.add_list(actions)
    transaction_views.add_describe(actions)
    transaction_views.add_describe_producers(actions)
    transaction_hanging.add_find_hanging(actions)
    transaction_changes.add_abort(actions)
    transaction_changes.add_force_terminate(actions)
