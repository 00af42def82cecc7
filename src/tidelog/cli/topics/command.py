"""`tidelog topics`: what there is, and making, changing and removing it. One file an action that has more to it."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import add_actions, add_command
from tidelog.cli.topics import changes as topic_changes
from tidelog.cli.topics import offsets as topic_offsets
from tidelog.cli.topics import views as topic_views

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

EXAMPLES = """\
  tidelog topics create orders --partitions 6 --config retention.ms=86400000
  tidelog topics describe orders
  tidelog topics offsets orders --at -1h
"""


def add_parser(commands: "Commands") -> None:
    help_text = "create, list, describe, alter, delete and truncate topics"
    parser = add_command(commands, "topics", help_text, examples=EXAMPLES, has_json=False)
    actions = add_actions(parser)
    topic_changes.add_create(actions)
    topic_views.add_list(actions)
    topic_views.add_describe(actions)
    topic_changes.add_alter(actions)
    topic_changes.add_delete(actions)
    topic_offsets.add_offsets(actions)
    topic_offsets.add_truncate(actions)
