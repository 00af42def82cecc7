"""`tidelog transactions list`, `describe` and `describe-producers`."""

import argparse
import time
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.durations import DURATIONS, duration_ms, shown_duration
from tidelog.cli.arguments.offset_arguments import shown_time
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.failing import CommandFailed
from tidelog.cli.groups.scope import SCOPE, partitions_of, topic_scope
from tidelog.cli.groups.views import shown_partitions
from tidelog.cli.output.rows import NOTHING, number, show_rows, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.offsets import ActiveProducer
from tidelog.client.admin.transactions import ANY_DURATION, TransactionDescription
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

STATE_STYLES = {"Ongoing": "yellow", "PrepareCommit": "yellow", "PrepareAbort": "yellow", "PrepareEpochFence": "red"}


def state(value: Any) -> str:
    shown = text(value)
    style = STATE_STYLES.get(shown)
    return f"[{style}]{shown}[/]" if style else shown


def moment(value: Any) -> str:
    return NOTHING if value is None or value < 0 else shown_time(value)


def age(value: Any) -> str:
    return NOTHING if value is None else shown_duration(value / 1000)


LIST_COLUMNS = {"transactional_id": text, "state": state, "producer_id": number, "coordinator": number}
DESCRIBE_COLUMNS = {
    "transactional_id": text,
    "state": state,
    "producer_id": number,
    "producer_epoch": number,
    "started": moment,
    "open_for_ms": age,
    "timeout_ms": age,
    "partitions": text,
    "coordinator": number,
}
PRODUCER_COLUMNS = {
    "topic": text,
    "partition": number,
    "producer_id": number,
    "producer_epoch": number,
    "coordinator_epoch": number,
    "last_sequence": number,
    "last_timestamp": moment,
    "open_from": number,
}


def add_list(actions: "Actions") -> None:
    examples = """\
      tidelog transactions list
      tidelog transactions list --state Ongoing --open-for 5m
    """
    parser = add_client_command(actions, "list", "which transactional ids there are", examples=examples)
    parser.add_argument(
        "--state", metavar="STATE", action="append", default=[], help="only in this state, such as Ongoing"
    )
    parser.add_argument(
        "--producer-id", metavar="N", type=int, action="append", default=[], help="only of this producer"
    )
    parser.add_argument(
        "--open-for", metavar="DURATION", type=duration_ms, default=ANY_DURATION,
        help=f"only those that are open for longer: {DURATIONS}",
    )  # fmt: skip
    parser.add_argument("--pattern", metavar="REGEX", help="only ids that this regular expression (RE2) matches")
    parser.set_defaults(run=run_list)


def run_list(options: argparse.Namespace) -> int:
    with connected(options) as client:
        found = Admin(client).list_transactions(
            options.state, options.producer_id, open_for_ms=options.open_for, pattern=options.pattern
        )
    rows = [
        {
            "transactional_id": each.transactional_id,
            "state": each.state,
            "producer_id": each.producer_id,
            "coordinator": each.coordinator,
        }
        for each in found
    ]
    show_rows(rows, LIST_COLUMNS, as_json=options.json, empty="no transactional ids")
    return 0


def add_describe(actions: "Actions") -> None:
    help_text = "state, age and partitions of transactions"
    parser = add_client_command(actions, "describe", help_text, examples="tidelog transactions describe billing-1")
    parser.add_argument("ids", nargs="+", metavar="ID", help="transactional ids")
    parser.set_defaults(run=run_describe)


def run_describe(options: argparse.Namespace) -> int:
    with connected(options) as client:
        found = Admin(client).describe_transactions(options.ids)
    now_ms = int(time.time() * 1000)
    rows = [_row(each, now_ms) for each in found.values() if not isinstance(each, ClientError)]
    refused = [each for each in found.values() if isinstance(each, ClientError)]
    if rows or not refused:
        show_rows(rows, DESCRIBE_COLUMNS, as_json=options.json)
    if refused:
        raise CommandFailed("\n".join(map(str, refused)))
    return 0


def _row(found: TransactionDescription, now_ms: int) -> dict[str, Any]:
    is_open = found.start_time_ms >= 0
    return {
        "transactional_id": found.transactional_id,
        "state": found.state,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "started": found.start_time_ms if is_open else None,
        "open_for_ms": max(0, now_ms - found.start_time_ms) if is_open else None,
        "timeout_ms": found.timeout_ms,
        "partitions": shown_partitions(found.partitions),
        "coordinator": found.coordinator,
    }


def add_describe_producers(actions: "Actions") -> None:
    help_text = "who has written to partitions, as their leaders remember"
    examples = "tidelog transactions describe-producers orders:0"
    parser = add_client_command(actions, "describe-producers", help_text, examples=examples)
    parser.add_argument("topics", nargs="+", metavar=SCOPE, type=topic_scope)
    parser.set_defaults(run=run_describe_producers)


def run_describe_producers(options: argparse.Namespace) -> int:
    with connected(options) as client:
        admin = Admin(client)
        found = admin.describe_producers(partitions_of(admin, options.topics))
    refused = [each for each in found.values() if isinstance(each, ClientError)]
    if refused:
        raise CommandFailed("\n".join(map(str, refused)))
    rows = [
        producer_row(topic_partition, each)
        for topic_partition, listed in found.items()
        if not isinstance(listed, ClientError)
        for each in listed
    ]
    show_rows(rows, PRODUCER_COLUMNS, as_json=options.json, empty="no producers")
    return 0


def producer_row(topic_partition: TopicPartition, found: ActiveProducer) -> dict[str, Any]:
    has_open = found.transaction_start_offset >= 0
    return {
        "topic": topic_partition.topic,
        "partition": topic_partition.partition,
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "coordinator_epoch": found.coordinator_epoch,
        "last_sequence": found.last_sequence,
        "last_timestamp": found.last_timestamp,
        "open_from": found.transaction_start_offset if has_open else None,
    }
