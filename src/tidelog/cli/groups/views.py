"""`tidelog groups list` and `describe`: which groups there are, who is in them, and how far they are."""

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tidelog.cli.cluster.connecting import add_client_command, connected, explained
from tidelog.cli.failing import CommandFailed
from tidelog.cli.groups.progress import Progress, progress
from tidelog.cli.output.rows import lag, number, show_json, show_rows, show_title, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.groups import GroupDescription, MemberDescription
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

STATE_STYLES = {
    "Stable": "green",
    "Empty": "dim",
    "Dead": "red",
    "PreparingRebalance": "yellow",
    "CompletingRebalance": "yellow",
    "Assigning": "yellow",
    "Reconciling": "yellow",
}


def state(value: Any) -> str:
    shown = text(value)
    style = STATE_STYLES.get(shown)
    return f"[{style}]{shown}[/]" if style else shown


LIST_COLUMNS = {"group": text, "state": state, "type": text, "members": number, "coordinator": number}
MEMBER_COLUMNS = {
    "client_id": text,
    "host": text,
    "member": text,
    "instance": text,
    "epoch": number,
    "assignment": text,
    "waits_for": text,
}
OFFSET_COLUMNS = {
    "topic": text,
    "partition": number,
    "committed": number,
    "end": number,
    "lag": lag,
    "client_id": text,
    "host": text,
}


def add_list(actions: "Actions") -> None:
    examples = """\
      tidelog groups list
      tidelog groups list 'billing-*' --state Stable
    """
    parser = add_client_command(actions, "list", "which groups there are", examples=examples)
    parser.add_argument(
        "pattern", nargs="?", default="*", metavar="PATTERN", help="only names like this; * and ? stand for anything"
    )
    parser.add_argument(
        "--state", metavar="STATE", action="append", default=[], help="only in this state, such as Stable or Empty"
    )
    parser.add_argument(
        "--type", metavar="TYPE", action="append", default=[], help="only of this type: classic or consumer"
    )
    parser.set_defaults(run=run_list)


def run_list(options: argparse.Namespace) -> int:
    with connected(options) as client:
        admin = Admin(client)
        found = [each for each in admin.list_groups(options.state, options.type)
                 if fnmatchcase(each.group_id, options.pattern)]  # fmt: skip
        described = admin.describe_groups(
            [each.group_id for each in found], {each.group_id: each.type for each in found}
        )
    rows = [
        {
            "group": each.group_id,
            "state": each.state,
            "type": each.type,
            "members": _member_count(described[each.group_id]),
            "coordinator": each.coordinator,
            "protocol_type": each.protocol_type,
        }
        for each in found
    ]
    show_rows(rows, LIST_COLUMNS, as_json=options.json, empty="no groups")
    return 0


def _member_count(outcome: GroupDescription | ClientError) -> int | None:
    """Return the number of members; None for a kind of group that is described in other ways, or one that went away in
    between."""
    return None if isinstance(outcome, ClientError) else len(outcome.members)


def add_describe(actions: "Actions") -> None:
    examples = """\
      tidelog groups describe billing
      tidelog groups describe billing --json | jq '.offsets[] | select(.lag > 0)'
    """
    help_text = "members with their partitions, offsets and lag"
    parser = add_client_command(actions, "describe", help_text, examples=examples)
    parser.add_argument("groups", nargs="+", metavar="GROUP")
    parser.set_defaults(run=run_describe)


def run_describe(options: argparse.Namespace) -> int:
    with connected(options) as client:
        admin = Admin(client)
        found = admin.describe_groups(options.groups)
        for each in found.values():
            if isinstance(each, GroupDescription):
                _show(each, progress(admin, each), options)
        refused = [explained(client, each) for each in found.values() if isinstance(each, ClientError)]
    if refused:
        raise CommandFailed("\n".join(map(str, refused)))
    return 0


def _show(group: GroupDescription, offsets: Sequence[Progress], options: argparse.Namespace) -> None:
    members, rows = [_member(each) for each in group.members], [_offset(each) for each in offsets]
    facts = {
        "group": group.group_id,
        "state": group.state,
        "type": group.type,
        "protocol_type": group.protocol_type,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
    }
    if options.json:
        show_json([{**facts, "members": members, "offsets": rows}])
        return
    assignor = f", assignor {group.assignor}" if group.assignor else ""
    epoch = "" if group.epoch is None else f", epoch {group.epoch}"
    count = f"{len(members)} member{'' if len(members) == 1 else 's'}"
    show_title(f"{group.group_id}  {group.state}, {group.type}, {count}{assignor}{epoch}, "
               f"coordinator {group.coordinator}")  # fmt: skip
    if members:
        shown = {name: form for name, form in MEMBER_COLUMNS.items() if any(each[name] is not None for each in members)}
        show_rows(members, shown, as_json=False)
        print()
    show_rows(rows, OFFSET_COLUMNS, as_json=False, empty="no offsets")


def _member(member: MemberDescription) -> dict[str, Any]:
    waits = sorted(set(member.target or ()) - set(member.assignment))
    return {
        "client_id": member.client_id,
        "host": member.host,
        "member": member.member_id,
        "instance": member.instance_id,
        "rack": member.rack_id,
        "epoch": member.epoch,
        "subscribed": member.subscribed_regex or member.subscribed_topics,
        "assignment": shown_partitions(member.assignment),
        "waits_for": shown_partitions(waits) or None,
    }


def shown_partitions(partitions: Sequence[TopicPartition]) -> str:
    """Return partitions as `orders:0-3,7 payments:0`: runs are shortened."""
    topics: dict[str, list[int]] = {}
    for each in sorted(partitions):
        topics.setdefault(each.topic, []).append(each.partition)
    return " ".join(f"{topic}:{_runs(indexes)}" for topic, indexes in topics.items())


def _runs(indexes: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for index in indexes:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _offset(each: Progress) -> dict[str, Any]:
    return {
        "topic": each.partition.topic,
        "partition": each.partition.partition,
        "committed": each.committed,
        "end": each.end,
        "lag": each.lag,
        "metadata": each.metadata,
        "client_id": each.member.client_id if each.member else None,
        "host": each.member.host if each.member else None,
        "member": each.member.member_id if each.member else None,
    }
