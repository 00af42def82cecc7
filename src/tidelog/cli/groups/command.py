"""`tidelog groups`: consumer groups, their members, offsets and lag. One file an action that has more to it."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_actions, add_command
from tidelog.cli.groups import changes as group_changes
from tidelog.cli.groups import lag as group_lag
from tidelog.cli.groups import reset as group_reset
from tidelog.cli.groups import views as group_views

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

EXAMPLES = """\
  tidelog groups list
  tidelog groups lag billing --watch
  tidelog groups reset-offsets billing --topic orders --by-duration 2h
"""


def add_parser(commands: "Commands") -> None:
    help_text = "consumer groups: members, offsets, lag; moving and deleting offsets"
    parser = add_command(commands, "groups", help_text, examples=EXAMPLES, has_json=False)
    actions = add_actions(parser)
    group_views.add_list(actions)
    group_views.add_describe(actions)
    group_lag.add_lag(actions)
    group_reset.add_reset(actions)
    group_changes.add_delete(actions)
    group_changes.add_delete_offsets(actions)
