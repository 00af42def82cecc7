"""`tidelog topics create`, `alter` and `delete`."""

import argparse
from typing import TYPE_CHECKING

from tidelog.cli.arguments.parsers import count, pair
from tidelog.cli.arguments.topic_arguments import add_topic, add_topics, topic_of, topics_of
from tidelog.cli.cluster.configs import check_known
from tidelog.cli.cluster.connecting import add_client_command, confirmed, connected, explained
from tidelog.cli.failing import WrongUsage
from tidelog.cli.output.outcomes import conclude
from tidelog.cli.output.rows import Row
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.configs import AlterOperation, ConfigChange
from tidelog.client.admin.topics import BROKER_DEFAULT, NewTopic
from tidelog.client.errors import ClientError
from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import format_uuid

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]


def add_create(actions: "Actions") -> None:
    examples = """\
      tidelog topics create orders
      tidelog topics create orders payments --partitions 6 --config cleanup.policy=compact
      tidelog topics create orders --replica-assignment 1:2,2:3        two partitions, two replicas each
    """
    parser = add_client_command(actions, "create", "make new topics", examples=examples)
    add_topics(parser)
    parser.add_argument("-p", "--partitions", metavar="N", type=count, help="unless told, the broker's num.partitions")
    parser.add_argument("-r", "--replication-factor", metavar="N", type=count, help="unless told, the broker's default")
    parser.add_argument(
        "-c", "--config", metavar="KEY=VALUE", type=pair, action="append", default=[], help="a setting of the topic"
    )
    parser.add_argument(
        "--replica-assignment",
        metavar="ID:ID,...",
        type=assignment,
        help="which brokers hold which partition: brokers parted by colons, partitions by commas",
    )
    parser.add_argument("--if-not-exists", action="store_true", help="a topic that is there is no failure")
    parser.add_argument("--validate-only", action="store_true", help="only say whether it could be done")
    parser.set_defaults(run=run_create)


def assignment(given: str) -> dict[int, list[int]]:
    try:
        return {index: [int(each) for each in part.split(":")] for index, part in enumerate(given.split(","))}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{given!r} is not broker ids like 1:2,2:3") from None


def run_create(options: argparse.Namespace) -> int:
    if options.replica_assignment and (options.partitions or options.replication_factor):
        raise WrongUsage("--replica-assignment says how many partitions and replicas there are: give no other numbers")
    topics = [_new_topic(name, options) for name in topics_of(options)]
    with connected(options) as client:
        outcomes = Admin(client).create_topics(topics, validate_only=options.validate_only)
    rows, refused = [], []
    for name, outcome in outcomes.items():
        if not isinstance(outcome, ClientError):
            rows.append({
                "created": name,
                "partitions": outcome.partitions,
                "replication_factor": outcome.replication_factor,
                "id": format_uuid(outcome.topic_id),
                "validate_only": options.validate_only,
            })  # fmt: skip
        elif not (options.if_not_exists and outcome.code is ErrorCode.TOPIC_ALREADY_EXISTS):
            refused.append(outcome)
    return conclude(rows, _created, refused, options)


def _created(row: Row) -> str:
    counts = f"partitions: {row['partitions']}, replication factor: {row['replication_factor']}"
    return f"{row['created']} could be created" if row["validate_only"] else f"created {row['created']}, {counts}"


def _new_topic(name: str, options: argparse.Namespace) -> NewTopic:
    return NewTopic(
        name=name,
        partitions=options.partitions or BROKER_DEFAULT,
        replication_factor=options.replication_factor or BROKER_DEFAULT,
        configs=dict(options.config),
        assignments=options.replica_assignment or {},
    )


def add_alter(actions: "Actions") -> None:
    examples = """\
      tidelog topics alter orders --partitions 12
      tidelog topics alter orders --config retention.ms=3600000 --unset cleanup.policy
    """
    description = "Give a topic more partitions, and set or unset its settings. Partitions can not be taken away."
    parser = add_client_command(
        actions, "alter", "more partitions, other settings", description=description, examples=examples
    )
    add_topic(parser)
    parser.add_argument("-p", "--partitions", metavar="N", type=count, help="how many there shall be")
    parser.add_argument("-c", "--config", metavar="KEY=VALUE", type=pair, action="append", default=[], help="set this")
    parser.add_argument("--unset", metavar="KEY", action="append", default=[], help="back to the default")
    parser.set_defaults(run=run_alter)


def run_alter(options: argparse.Namespace) -> int:
    topic = topic_of(options)
    changes = [ConfigChange(name, value) for name, value in options.config]
    changes += [ConfigChange(name, None, AlterOperation.DELETE) for name in options.unset]
    if not changes and options.partitions is None:
        raise WrongUsage("nothing to alter: give --partitions, --config or --unset")
    with connected(options) as client:
        admin = Admin(client)
        admin.describe_topic(topic)  # a wrong name fails at once; a change would be tried again for a minute
        check_known(admin, ResourceType.TOPIC, topic, options.unset)
        if changes:
            admin.alter_configs(ResourceType.TOPIC, topic, changes)
        if options.partitions is not None:
            admin.create_partitions(topic, options.partitions)
    row = {
        "altered": topic,
        "partitions": options.partitions,
        "set": dict(options.config),
        "unset": options.unset,
    }
    return conclude([row], lambda row: f"altered {row['altered']}", [], options)


def add_delete(actions: "Actions") -> None:
    parser = add_client_command(
        actions, "delete", "remove topics and all that is in them", examples="tidelog topics delete orders --yes"
    )
    add_topics(parser)
    parser.add_argument("--if-exists", action="store_true", help="a topic that is not there is no failure")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.set_defaults(run=run_delete)


def run_delete(options: argparse.Namespace) -> int:
    names = topics_of(options)
    confirmed(f"Delete {', '.join(names)} and all records in it?", options)
    with connected(options) as client:
        outcomes = _delete(Admin(client), names)
        errors = [error for error in outcomes.values() if error and not (options.if_exists and _is_missing(error))]
        refused = [explained(client, error) for error in errors]
    deleted = [{"deleted": name} for name, error in outcomes.items() if error is None]
    return conclude(deleted, lambda row: f"deleted {row['deleted']}", refused, options)


def _delete(admin: Admin, names: list[str]) -> dict[str, ClientError | None]:
    """Delete the topics that exist; the others are found out first, because deleting one would be tried again for a
    minute."""
    found = admin.describe_topics(names)
    step = "`tidelog topics list` shows which there are"
    missing = {
        name: ClientError(each.code, f"delete topic {name}", each.of, each.message, step if _is_missing(each) else None)
        for name, each in found.items()
        if isinstance(each, ClientError)
    }
    present = [name for name in names if name not in missing]
    return {**missing, **(admin.delete_topics(present) if present else {})}


def _is_missing(error: ClientError) -> bool:
    return error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
