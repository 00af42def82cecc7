"""`tidelog groups delete` and `delete-offsets`."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.cluster.connecting import add_client_command, confirmed, connected, explained
from tidelog.cli.groups.scope import SCOPE, committed_in, topic_scope
from tidelog.cli.output.outcomes import conclude
from tidelog.cli.output.rows import Row
from tidelog.client.admin.admin_client import Admin
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]


def add_delete(actions: "Actions") -> None:
    examples = "tidelog groups delete billing --yes"
    description = "Delete groups that have no members, with all of their offsets."
    parser = add_client_command(
        actions, "delete", "remove groups and their offsets", description=description, examples=examples
    )
    parser.add_argument("groups", nargs="+", metavar="GROUP")
    parser.add_argument("--if-exists", action="store_true", help="a group that is not there is no failure")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run_delete)


def run_delete(options: argparse.Namespace) -> int:
    with connected(options) as client:
        confirmed(f"Delete {', '.join(options.groups)} and all offsets?", options)
        rows, refused = [], []
        for name, outcome in Admin(client).delete_groups(options.groups).items():
            if outcome is None:
                rows.append({"deleted": name})
            elif not (options.if_exists and outcome.code is ErrorCode.GROUP_ID_NOT_FOUND):
                refused.append(explained(client, outcome))
    return conclude(rows, lambda row: f"deleted {row['deleted']}", refused, options)


def add_delete_offsets(actions: "Actions") -> None:
    examples = """\
      tidelog groups delete-offsets billing --topic orders
      tidelog groups delete-offsets billing --topic orders:0,2 --yes
    """
    description = "Delete offsets of topics that no member of the group is subscribed to."
    parser = add_client_command(
        actions, "delete-offsets", "forget how far a group is in a topic", description=description, examples=examples
    )
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument(
        "--topic", metavar=SCOPE, type=topic_scope, action="append", default=[],
        help="all partitions of a topic, or these; may be repeated",
    )  # fmt: skip
    parser.add_argument("--all-topics", action="store_true", help="every topic that the group has offsets of")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run_delete_offsets)


def run_delete_offsets(options: argparse.Namespace) -> int:
    with connected(options) as client:
        admin = Admin(client)
        topic_partitions = committed_in(admin, options.group, options.topic, is_all=options.all_topics)
        if not topic_partitions:
            return conclude([], _forgotten, [], options)
        confirmed(f"Forget how far {options.group} is in {len(topic_partitions)} partition(s)?", options)
        outcomes = admin.delete_group_offsets(options.group, topic_partitions)
    refused = [each for each in outcomes.values() if isinstance(each, ClientError)]
    rows = [
        {"group": options.group, "topic": topic_partition.topic, "partition": topic_partition.partition}
        for topic_partition, outcome in outcomes.items()
        if outcome is None
    ]
    return conclude(rows, _forgotten, refused, options)


def _forgotten(row: Row) -> str:
    return f"{row['group']} has no offset of partition {row['partition']} of {row['topic']} any more"
