"""`tidelog topics list` and `describe`."""

import argparse
import contextlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.topic_arguments import add_topics, topics_of
from tidelog.cli.cluster.connecting import add_client_command, connected, explained
from tidelog.cli.failing import CommandFailed
from tidelog.cli.output.rows import Row, ids, number, show_json, show_rows, show_title, size, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.configs import ConfigEntry, ConfigSource
from tidelog.client.admin.topics import TopicDescription
from tidelog.client.errors import ClientError
from tidelog.client.metadata import NO_LEADER, TopicMetadata
from tidelog.metadata.configs import ResourceType
from tidelog.model.ids import TopicPartition, format_uuid

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

LIST_COLUMNS = {"topic": text, "partitions": number, "replication_factor": number, "size": size, "id": text}
PARTITION_COLUMNS = {
    "partition": number,
    "leader": number,
    "epoch": number,
    "replicas": ids,
    "isr": ids,
    "eligible": ids,
    "offline": ids,
}


def add_list(actions: "Actions") -> None:
    description = "Which topics there are. The size is that of one copy: the logs of the leaders, on disk."
    parser = add_client_command(
        actions, "list", "which topics there are", description=description, examples="tidelog topics list 'orders-*'"
    )
    parser.add_argument(
        "pattern", nargs="?", default="*", metavar="PATTERN", help="only names like this; * and ? stand for anything"
    )
    parser.add_argument("--internal", action="store_true", help="with the topics of the cluster itself")
    parser.set_defaults(run=run_list)


def run_list(options: argparse.Namespace) -> int:
    with connected(options) as client:
        admin = Admin(client)
        listed = admin.list_topics(include_internal=options.internal)
        found = [each for each in listed if fnmatchcase(each.name, options.pattern)]
        sizes = _sizes(admin, found)
    rows = [
        {
            "topic": each.name,
            "id": format_uuid(each.topic_id),
            "partitions": len(each.partitions),
            "replication_factor": each.replication_factor,
            "is_internal": each.is_internal,
            "size": sizes.get(each.name),
        }
        for each in found
    ]
    show_rows(rows, LIST_COLUMNS, as_json=options.json, empty="no topics")
    return 0


def _sizes(admin: Admin, topics: Sequence[TopicMetadata]) -> dict[str, int]:
    """Return the bytes of one copy of each topic, by name: what the logs of its leaders take on disk. A topic is left
    out while a broker that leads a part of it does not tell: others can still be listed."""
    leaders = {TopicPartition(topic.name, each.index): each.leader for topic in topics for each in topic.partitions}
    held: dict[tuple[TopicPartition, int], int] = {}
    for broker in sorted(set(leaders.values()) - {NO_LEADER}):
        with contextlib.suppress(ClientError):
            for directory in admin.describe_log_dirs([broker])[broker]:
                held |= {(each.partition, broker): each.size_bytes for each in directory.replicas if not each.is_future}
    known = {
        topic_partition: held[topic_partition, leader]
        for topic_partition, leader in leaders.items()
        if (topic_partition, leader) in held
    }
    return {
        topic.name: sum(known[TopicPartition(topic.name, each.index)] for each in topic.partitions)
        for topic in topics
        if all(TopicPartition(topic.name, each.index) in known for each in topic.partitions)
    }


def add_describe(actions: "Actions") -> None:
    help_text = "partitions, leaders, replicas, and settings that are not the default"
    parser = add_client_command(actions, "describe", help_text, examples="tidelog topics describe orders")
    add_topics(parser)
    parser.set_defaults(run=run_describe)


def run_describe(options: argparse.Namespace) -> int:
    topics = topics_of(options)
    with connected(options) as client:
        admin = Admin(client)
        found = admin.describe_topics(topics)
        refused = [explained(client, each) for each in found.values() if isinstance(each, ClientError)]
        for each in found.values():
            if isinstance(each, TopicDescription):
                _show(each, own_settings(admin.describe_configs(ResourceType.TOPIC, each.name).values()), options)
    if refused:
        raise CommandFailed("\n".join(map(str, refused)))
    return 0


def own_settings(entries: Any) -> dict[str, str | None]:
    """Return the settings that were set on the topic itself."""
    return {each.name: shown_value(each) for each in entries if each.source is ConfigSource.TOPIC}


def shown_value(entry: ConfigEntry) -> str | None:
    return "(hidden)" if entry.is_sensitive else entry.value


def _show(topic: TopicDescription, settings: dict[str, str | None], options: argparse.Namespace) -> None:
    partitions = _partitions(topic)
    if options.json:
        facts = {"topic": topic.name, "id": format_uuid(topic.topic_id), "is_internal": topic.is_internal}
        show_json([{**facts, "configs": settings, "partitions": partitions}])
        return
    show_title(f"{topic.name}  {format_uuid(topic.topic_id)}" + ("  internal" if topic.is_internal else ""))
    if settings:
        show_rows([{"setting": key, "value": value} for key, value in settings.items()],
                  {"setting": text, "value": text}, as_json=False)  # fmt: skip
    shown = {name: form for name, form in PARTITION_COLUMNS.items() if _has(partitions, name)}
    show_rows(partitions, shown, as_json=False)


def _has(rows: Sequence[Row], name: str) -> bool:
    """Tell whether a column has any value; those without are left out."""
    return any(row[name] != [] for row in rows)


def _partitions(topic: TopicDescription) -> list[dict[str, Any]]:
    return [
        {
            "partition": each.index,
            "leader": each.leader,
            "epoch": each.leader_epoch,
            "replicas": each.replicas,
            "isr": each.isr,
            "eligible": each.eligible_leader_replicas,
            "offline": each.offline,
        }
        for each in sorted(topic.partitions, key=lambda each: each.index)
    ]
