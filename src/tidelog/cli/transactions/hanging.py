"""`tidelog transactions find-hanging`: those that nobody will ever end."""

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.durations import DURATIONS, duration_ms
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.failing import WrongUsage
from tidelog.cli.groups.scope import SCOPE, partitions_of, topic_scope
from tidelog.cli.output.rows import number, show_rows, text
from tidelog.cli.transactions.views import age, moment, producer_row
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.offsets import ActiveProducer
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

LONGEST_TRANSACTION_MS = 900_000  # transaction.max.timeout.ms, unless configured
PARTITIONS_A_LOOK = 500
DESCRIPTION = """\
Find transactions that are open on a partition though no coordinator has them open there: nobody will end them, and
read_committed consumers wait for ever. Only those are looked at that were last written to longer ago than any
transaction may take (--older-than). `tidelog transactions abort` ends one.
"""
EXAMPLES = """\
  tidelog transactions find-hanging
  tidelog transactions find-hanging --topic orders --older-than 5m
"""
COLUMNS = {
    "topic": text,
    "partition": number,
    "producer_id": number,
    "producer_epoch": number,
    "coordinator_epoch": number,
    "transactional_id": text,
    "open_from": number,
    "last_timestamp": moment,
    "quiet_for_ms": age,
}


def add_find_hanging(actions: "Actions") -> None:
    parser = add_client_command(
        actions, "find-hanging", "transactions that nobody will end", description=DESCRIPTION, examples=EXAMPLES
    )
    parser.add_argument(
        "--topic", metavar=SCOPE, type=topic_scope, action="append", default=[],
        help="look here only; may be repeated. Unless told, everywhere",
    )  # fmt: skip
    parser.add_argument("--broker", metavar="ID", type=int, help="only partitions with a replica on this broker")
    parser.add_argument(
        "--older-than", metavar="DURATION", type=duration_ms, default=LONGEST_TRANSACTION_MS,
        help=f"{DURATIONS}; unless told 15m, as long as a transaction may take unless the broker is configured",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    now_ms = int(time.time() * 1000)
    with connected(options) as client:
        admin = Admin(client)
        producers = _producers(admin, _partitions(admin, options))
        found = admin.hanging_transactions(producers, now_ms - options.older_than)
    rows: list[dict[str, Any]] = [
        {
            **producer_row(each.partition, each.producer),
            "transactional_id": each.transactional_id,
            "quiet_for_ms": max(0, now_ms - each.producer.last_timestamp),
        }
        for each in found
    ]
    show_rows(rows, COLUMNS, as_json=options.json, empty="no hanging transactions")
    return 0


def _partitions(admin: Admin, options: argparse.Namespace) -> list[TopicPartition]:
    if options.topic:
        chosen = partitions_of(admin, options.topic)
    else:
        topics = admin.list_topics(include_internal=True)
        chosen = [TopicPartition(topic.name, each.index) for topic in topics for each in topic.partitions]
    if options.broker is None:
        return chosen
    if options.broker not in admin.client.metadata.nodes:
        raise WrongUsage(f"there is no broker {options.broker}; `tidelog cluster describe` lists them")
    return [each for each in chosen if _has_replica(admin, each, options.broker)]


def _has_replica(admin: Admin, topic_partition: TopicPartition, broker: int) -> bool:
    known = admin.client.metadata.partition(topic_partition)
    return known is not None and broker in known.replicas


def _producers(admin: Admin, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, list[ActiveProducer]]:
    """Return the producers of each partition, asked for some at a time, so that no broker has to answer for all
    partitions at once. A topic that is deleted while we look has nothing that hangs."""
    found: dict[TopicPartition, list[ActiveProducer]] = {}
    for first in range(0, len(partitions), PARTITIONS_A_LOOK):
        outcomes = admin.describe_producers(partitions[first : first + PARTITIONS_A_LOOK])
        found.update(
            (topic_partition, each) for topic_partition, each in outcomes.items() if not isinstance(each, ClientError)
        )
    return found
