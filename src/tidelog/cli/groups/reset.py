"""`tidelog groups reset-offsets`: where a group goes on, moved by a plan that is shown first and done when told."""

import argparse
import csv
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.durations import DURATIONS, duration_ms
from tidelog.cli.arguments.offset_arguments import parse_timestamp
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.failing import CommandFailed, WrongUsage, warn
from tidelog.cli.groups.reset_plan import PartitionReset, Ranges, plan_of
from tidelog.cli.groups.scope import SCOPE, partitions_of, topic_scope
from tidelog.cli.output.rows import change, number, show_rows, show_title, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Move the committed offsets of a group. It shows what it would do, and does it only with --execute. The group must have
no members at work: they would not notice, and their next commit would undo it.
"""
EXAMPLES = """\
  tidelog groups reset-offsets billing --topic orders --to-earliest             what would happen
  tidelog groups reset-offsets billing --topic orders --to-earliest --execute   do it
  tidelog groups reset-offsets billing --all-topics --by-duration 2h --execute  read the last two hours again
  tidelog groups reset-offsets billing --topic orders:0,2 --shift-by -100
  tidelog groups reset-offsets billing --all-topics --to-current --export before.csv
  tidelog groups reset-offsets billing --from-file before.csv --execute
"""
COLUMNS = {"topic": text, "partition": number, "committed": number, "new": number, "change": change, "note": text}


def add_reset(actions: "Actions") -> None:
    parser = add_client_command(
        actions, "reset-offsets", "move a group's offsets; a dry run unless told", description=DESCRIPTION,
        examples=EXAMPLES,
    )  # fmt: skip
    parser.add_argument("group", metavar="GROUP")
    parser.add_argument(
        "--topic", metavar=SCOPE, type=topic_scope, action="append", default=[],
        help="all partitions of a topic, or these; may be repeated",
    )  # fmt: skip
    parser.add_argument("--all-topics", action="store_true", help="every topic that the group has offsets of")
    _add_targets(parser.add_mutually_exclusive_group(required=True))
    parser.add_argument("--execute", action="store_true", help="do it")
    parser.add_argument("--export", metavar="FILE", help="write the new offsets as CSV, for --from-file")
    parser.set_defaults(run=run)


def _add_targets(target: Any) -> None:
    target.add_argument("--to-earliest", action="store_true", help="to the beginning of each log")
    target.add_argument("--to-latest", action="store_true", help="to the end of each log")
    target.add_argument("--to-offset", metavar="N", type=int, help="to this offset, or the nearest that the log has")
    target.add_argument(
        "--to-datetime", metavar="TIME", type=parse_timestamp, help="to the first record not before this"
    )
    target.add_argument("--by-duration", metavar="DURATION", type=duration_ms, help=f"so far back: {DURATIONS}")
    target.add_argument("--shift-by", metavar="N", type=int, help="so many offsets on, or back if negative")
    target.add_argument("--to-current", action="store_true", help="to what is committed; the end, where nothing is")
    target.add_argument("--from-file", metavar="FILE", help="to what a file says: topic,partition,offset")


def run(options: argparse.Namespace) -> int:
    given = read_plan(options.from_file) if options.from_file else None
    if given is not None and (options.topic or options.all_topics):
        raise WrongUsage("--from-file says which partitions: give neither --topic nor --all-topics")
    if given is None and bool(options.topic) == options.all_topics:
        raise WrongUsage(f"say which partitions: --topic {SCOPE}, or --all-topics")
    if options.by_duration is not None:
        options.to_datetime = int(time.time() * 1000) - options.by_duration
    with connected(options) as client:
        admin = Admin(client)
        plan = _plan(admin, given, options)
        if options.execute:
            _require_unused(admin, options.group)
            _execute(admin, options.group, plan)
        elif _is_live(admin, options.group):
            warn(f"group {options.group} has members: --execute would be refused until they are stopped")
    if options.export:
        write_plan(options.export, plan)
    _show(plan, options)
    return 0


def _plan(
    admin: Admin, given: Mapping[TopicPartition, int] | None, options: argparse.Namespace
) -> list[PartitionReset]:
    committed = {
        topic_partition: each.offset for topic_partition, each in admin.list_group_offsets(options.group).items()
    }
    if given is not None:
        topic_partitions = sorted(given)
    elif options.all_topics:
        topic_partitions = sorted(committed)
    else:
        topic_partitions = partitions_of(admin, options.topic)
    if not topic_partitions:
        raise CommandFailed(f"group {options.group} has no offsets; name the topic: --topic {SCOPE}")
    ranges = Ranges(admin, topic_partitions)
    return [
        plan_of(topic_partition, committed.get(topic_partition), given, options, ranges)
        for topic_partition in topic_partitions
    ]


def _is_live(admin: Admin, group_id: str) -> bool:
    """Tell whether the group has members. A group that does not exist yet has none: the reset creates it."""
    outcome = admin.describe_groups([group_id])[group_id]
    if isinstance(outcome, ClientError):
        if outcome.code is ErrorCode.GROUP_ID_NOT_FOUND:
            return False
        raise outcome
    return outcome.is_live


def _require_unused(admin: Admin, group_id: str) -> None:
    if _is_live(admin, group_id):
        step = f"stop its members first (`tidelog groups describe {group_id}` names them), then run this again"
        raise CommandFailed(f"group {group_id} has members, whose commits would undo it; {step}")


def _execute(admin: Admin, group_id: str, plan: Sequence[PartitionReset]) -> None:
    outcomes = admin.alter_group_offsets(group_id, {each.partition: each.new for each in plan})
    refused = [each for each in outcomes.values() if each is not None]
    if refused:
        raise CommandFailed("\n".join(map(str, refused)))


def _show(plan: Sequence[PartitionReset], options: argparse.Namespace) -> None:
    rows = [{"group": options.group, **each.row(), "executed": options.execute} for each in plan]
    if not options.json:
        show_title(f"{options.group}  {'offsets moved' if options.execute else 'what would happen'}")
    shown = {name: form for name, form in COLUMNS.items() if name != "note" or any(row["note"] for row in rows)}
    show_rows(rows, shown, as_json=options.json)
    if not options.json and not options.execute:
        print("nothing was changed; --execute does it", file=sys.stderr)


def read_plan(path: str) -> dict[TopicPartition, int]:
    """Read lines of topic, partition, offset; or with the group in front, as Kafka's tool writes them for several
    groups."""
    found = {}
    try:
        with Path(path).open(newline="") as file:
            for line in csv.reader(file):
                if line:
                    topic, partition, offset = [each.strip() for each in line[-3:]]
                    found[TopicPartition(topic, int(partition))] = int(offset)
    except OSError as error:
        raise WrongUsage(f"{path}: {error.strerror}") from error
    except ValueError:
        raise WrongUsage(f"{path}: {','.join(line)!r} is not topic,partition,offset") from None
    if not found:
        raise WrongUsage(f"{path}: no offsets in it")
    return found


def write_plan(path: str, plan: Sequence[PartitionReset]) -> None:
    try:
        with Path(path).open("w", newline="") as file:
            rows = [(each.partition.topic, each.partition.partition, each.new) for each in plan]
            csv.writer(file, lineterminator="\n").writerows(rows)
    except OSError as error:
        raise WrongUsage(f"{path}: {error.strerror}") from error
