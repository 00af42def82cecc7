"""`tidelog topics list` and `describe`."""

import argparse
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from tidelog.cli.connecting import add_client_command, connected
from tidelog.cli.failing import CommandFailed
from tidelog.cli.rows import Row, ids, number, show_json, show_rows, show_title, text
from tidelog.client.admin import Admin
from tidelog.client.admin_configs import ConfigEntry, ConfigSource, ResourceType
from tidelog.client.admin_topics import TopicDescription
from tidelog.client.errors import ClientError
from tidelog.model.ids import format_uuid

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

LIST_COLUMNS = {"topic": text, "partitions": number, "replication_factor": number, "id": text}
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
    parser = add_client_command(actions, "list", "which topics there are", examples="tidelog topics list 'orders-*'")
    parser.add_argument(
        "pattern", nargs="?", default="*", metavar="PATTERN", help="only names like this; * and ? stand for anything"
    )
    parser.add_argument("--internal", action="store_true", help="with the topics of the cluster itself")
    parser.set_defaults(run=run_list)


def run_list(options: argparse.Namespace) -> int:
    with connected(options) as client:
        found = Admin(client).list_topics(include_internal=options.internal)
    rows = [
        {
            "topic": each.name,
            "id": format_uuid(each.topic_id),
            "partitions": len(each.partitions),
            "replication_factor": each.replication_factor,
            "is_internal": each.is_internal,
        }
        for each in found
        if fnmatchcase(each.name, options.pattern)
    ]
    show_rows(rows, LIST_COLUMNS, as_json=options.json, empty="no topics")
    return 0


def add_describe(actions: "Actions") -> None:
    help_text = "partitions, leaders, replicas, and settings that are not the default"
    parser = add_client_command(actions, "describe", help_text, examples="tidelog topics describe orders")
    parser.add_argument("topics", nargs="+", metavar="TOPIC")
    parser.set_defaults(run=run_describe)


def run_describe(options: argparse.Namespace) -> int:
    with connected(options) as client:
        admin = Admin(client)
        found = admin.describe_topics(options.topics)
        refused = [each for each in found.values() if isinstance(each, ClientError)]
        for each in found.values():
            if isinstance(each, TopicDescription):
                _show(each, own_settings(admin.describe_configs(ResourceType.TOPIC, each.name).values()), options)
    if refused:
        raise CommandFailed("\n".join(map(str, refused)))
    return 0


def own_settings(entries: Any) -> dict[str, str | None]:
    """What was set on the topic itself."""
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
    """Columns in which nothing has anything are left out."""
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
