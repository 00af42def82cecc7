"""`tidelog topics offsets` and `truncate`: where the logs of a topic begin and end, and letting them begin later."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.offset_arguments import (
    BEGINNING,
    END,
    OFFSET_FORMS,
    OffsetArgument,
    parse_offset,
    shown_time,
)
from tidelog.cli.arguments.topic_arguments import add_topic, add_topics, topic_of, topics_of
from tidelog.cli.cluster.connecting import add_client_command, confirmed, connected
from tidelog.cli.failing import WrongUsage
from tidelog.cli.output.outcomes import conclude
from tidelog.cli.output.rows import NOTHING, Row, number, show_rows, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.errors import ClientError
from tidelog.client.offsets import FoundOffset
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

HIGH_WATERMARK = -1  # how DeleteRecords names the end of the log
RANGE_COLUMNS = {"topic": text, "partition": number, "beginning": number, "end": number, "records": number}


def _time(value: Any) -> str:
    return NOTHING if value is None or value < 0 else shown_time(value)


AT_COLUMNS = {"topic": text, "partition": number, "offset": number, "timestamp": _time}


def add_offsets(actions: "Actions") -> None:
    examples = """\
      tidelog topics offsets orders
      tidelog topics offsets orders --at 2026-05-01T12:00
    """
    parser = add_client_command(actions, "offsets", "where each partition begins and ends", examples=examples)
    add_topics(parser)
    parser.add_argument("--partition", metavar="N", type=int, action="append", help="only of this partition")
    parser.add_argument("--at", metavar="OFFSET", type=parse_offset, help=f"the offset there instead: {OFFSET_FORMS}")
    parser.set_defaults(run=run_offsets)


def run_offsets(options: argparse.Namespace) -> int:
    topics = topics_of(options)
    with connected(options) as client:
        admin = Admin(client)
        partitions = [each for topic in topics for each in chosen_partitions(admin, topic, options.partition)]
        rows = _range_rows(admin, partitions) if options.at is None else _at_rows(admin, partitions, options.at)
    show_rows(rows, RANGE_COLUMNS if options.at is None else AT_COLUMNS, as_json=options.json)
    return 0


def chosen_partitions(admin: Admin, topic: str, chosen: Sequence[int] | None) -> list[TopicPartition]:
    indexes = sorted(each.index for each in admin.describe_topic(topic).partitions)
    for index in chosen or ():
        if index not in indexes:
            raise WrongUsage(f"{topic} has no partition {index}; it has {len(indexes)}, counted from 0")
    return [TopicPartition(topic, index) for index in indexes if chosen is None or index in chosen]


def offsets_at(
    admin: Admin, partitions: Sequence[TopicPartition], where: OffsetArgument
) -> dict[TopicPartition, FoundOffset]:
    """Return the broker's answer for each partition; offset -1 where there is no record so late."""
    found = admin.list_offsets(dict.fromkeys(partitions, where.timestamp_ms))
    return {each: succeeded(outcome) for each, outcome in found.items()}


def succeeded(outcome: Any) -> Any:
    if isinstance(outcome, ClientError):
        raise outcome
    return outcome


def _range_rows(admin: Admin, partitions: Sequence[TopicPartition]) -> list[dict[str, Any]]:
    beginnings, ends = offsets_at(admin, partitions, BEGINNING), offsets_at(admin, partitions, END)
    return [
        {
            "topic": each.topic,
            "partition": each.partition,
            "beginning": beginnings[each].offset,
            "end": ends[each].offset,
            "records": ends[each].offset - beginnings[each].offset,
        }
        for each in partitions
    ]


def _at_rows(admin: Admin, partitions: Sequence[TopicPartition], where: OffsetArgument) -> list[dict[str, Any]]:
    if where.offset is not None:
        raise WrongUsage("--at takes beginning, end or a time: an offset is known already")
    found = offsets_at(admin, partitions, where)
    return [
        {
            "topic": each.topic,
            "partition": each.partition,
            "offset": found[each].offset,
            "timestamp": found[each].timestamp,
        }
        for each in partitions
    ]


def add_truncate(actions: "Actions") -> None:
    examples = """\
      tidelog topics truncate orders --before -7d --yes
      tidelog topics truncate orders --partition 2 --before 12345
    """
    description = "Delete the records before an offset. Offsets stay as they are: the log begins later."
    parser = add_client_command(
        actions, "truncate", "delete the oldest records", description=description, examples=examples
    )
    add_topic(parser)
    parser.add_argument("--before", metavar="OFFSET", type=parse_offset, required=True, help=OFFSET_FORMS)
    parser.add_argument("--partition", metavar="N", type=int, action="append", help="only of this partition")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run_truncate)


def run_truncate(options: argparse.Namespace) -> int:
    topic = topic_of(options)
    with connected(options) as client:
        admin = Admin(client)
        before = _before(admin, chosen_partitions(admin, topic, options.partition), options.before)
        confirmed(f"Delete the oldest records of {len(before)} partition(s) of {topic}?", options)
        outcomes = admin.delete_records(before)
    refused = [each for each in outcomes.values() if isinstance(each, ClientError)]
    rows = [
        {"topic": each.topic, "partition": each.partition, "beginning": outcome}
        for each, outcome in outcomes.items()
        if not isinstance(outcome, ClientError)
    ]
    return conclude(rows, _truncated, refused, options)


def _truncated(row: Row) -> str:
    return f"partition {row['partition']} of {row['topic']} begins at offset {row['beginning']}"


def _before(admin: Admin, partitions: Sequence[TopicPartition], where: OffsetArgument) -> dict[TopicPartition, int]:
    if where.offset is not None:
        return dict.fromkeys(partitions, where.offset)
    if where == END:
        return dict.fromkeys(partitions, HIGH_WATERMARK)
    # Where there is no record so late, all records are older.
    found = offsets_at(admin, partitions, where)
    return {each: HIGH_WATERMARK if found[each].offset < 0 else found[each].offset for each in partitions}
