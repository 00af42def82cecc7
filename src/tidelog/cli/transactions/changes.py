"""`tidelog transactions abort` and `force-terminate`: ending what its producer does not end."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.cluster.connecting import add_client_command, confirmed, connected
from tidelog.cli.failing import CommandFailed, WrongUsage
from tidelog.cli.groups.scope import one_partition
from tidelog.cli.output.outcomes import conclude
from tidelog.cli.output.rows import Row
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.offsets import ActiveProducer
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

ABORT_DESCRIPTION = """\
End a transaction that hangs on a partition: an abort marker is written there, without asking the coordinator. For one
that its coordinator still knows, use force-terminate instead: it is ended on all of its partitions.
"""
ABORT_EXAMPLES = """\
  tidelog transactions find-hanging --topic orders
  tidelog transactions abort orders:0 --start-offset 1234
  tidelog transactions abort orders:0 --producer-id 7 --producer-epoch 0 --coordinator-epoch 3 --yes
"""


def add_abort(actions: "Actions") -> None:
    help_text = "end a hanging transaction on a partition"
    parser = add_client_command(actions, "abort", help_text, description=ABORT_DESCRIPTION, examples=ABORT_EXAMPLES)
    parser.add_argument("partition", metavar="TOPIC:PARTITION", type=one_partition)
    parser.add_argument("--start-offset", metavar="N", type=int, help="where it is open from, as find-hanging says")
    parser.add_argument("--producer-id", metavar="N", type=int, help="or else whose it is, with the two epochs")
    parser.add_argument("--producer-epoch", metavar="N", type=int, help="of the producer")
    parser.add_argument("--coordinator-epoch", metavar="N", type=int, help="of the last that ended one of its")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run_abort)


def run_abort(options: argparse.Namespace) -> int:
    named = (options.producer_id, options.producer_epoch, options.coordinator_epoch)
    is_named = None not in named
    if is_named == (options.start_offset is not None) or (not is_named and named != (None, None, None)):
        raise WrongUsage("name it by --start-offset, or by --producer-id, --producer-epoch and --coordinator-epoch")
    topic_partition: TopicPartition = options.partition
    with connected(options) as client:
        admin = Admin(client)
        found = (
            ActiveProducer(named[0], named[1], -1, -1, named[2], -1)
            if is_named
            else _open_from(admin, topic_partition, options)
        )
        confirmed(f"Abort the transaction of producer {found.producer_id} on {topic_partition}?", options)
        admin.abort_transaction(topic_partition, found)
    row = {"topic": topic_partition.topic, "partition": topic_partition.partition, "aborted": found.producer_id}
    return conclude([row], _aborted, [], options)


def _open_from(admin: Admin, topic_partition: TopicPartition, options: argparse.Namespace) -> ActiveProducer:
    producers = admin.describe_producers([topic_partition])[topic_partition]
    if isinstance(producers, ClientError):
        raise producers
    for each in producers:
        if each.transaction_start_offset == options.start_offset >= 0:
            return each
    where = f"{topic_partition.topic}:{topic_partition.partition}"
    step = f"see which are with `tidelog transactions describe-producers {where}`"
    raise CommandFailed(f"no transaction is open on {topic_partition} from offset {options.start_offset}; {step}")


def _aborted(row: Row) -> str:
    return f"aborted the transaction of producer {row['aborted']} on {row['topic']}-{row['partition']}"


def add_force_terminate(actions: "Actions") -> None:
    description = "Fence the producer of a transactional id, and abort what it has open. It finds out when it goes on."
    parser = add_client_command(
        actions,
        "force-terminate",
        "fence a producer and abort what it has open",
        description=description,
        examples="tidelog transactions force-terminate billing-1 --yes",
    )
    parser.add_argument("id", metavar="ID", help="a transactional id")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run_force_terminate)


def run_force_terminate(options: argparse.Namespace) -> int:
    with connected(options) as client:
        admin = Admin(client)
        _require_known(admin, options.id)
        confirmed(f"Fence the producer of {options.id}, and abort what it has open?", options)
        identity = admin.fence_producer(options.id)
    row = {
        "terminated": options.id,
        "producer_id": identity.producer_id,
        "producer_epoch": identity.producer_epoch,
    }
    return conclude([row], _terminated, [], options)


def _require_known(admin: Admin, name: str) -> None:
    """Raise CommandFailed for a transactional id that nobody has used: fencing it would create it."""
    outcome = admin.describe_transactions([name])[name]
    if isinstance(outcome, ClientError):
        code = outcome.code
        if code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise CommandFailed(f"no producer has used transactional id {name}; look with `tidelog transactions list`")
        raise outcome


def _terminated(row: Row) -> str:
    return f"fenced {row['terminated']}: producer {row['producer_id']} goes on at epoch {row['producer_epoch']}"
