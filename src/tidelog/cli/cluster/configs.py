"""`tidelog configs`: settings of topics, brokers, of all brokers together, and of groups."""

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.parsers import add_actions, add_command, pair
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.failing import CommandFailed
from tidelog.cli.output.outcomes import conclude
from tidelog.cli.output.rows import Row, flag, show_rows, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.configs import ConfigEntry, ConfigSource
from tidelog.config.broker_config import unknown_setting
from tidelog.config.catalogue import BROKER, GROUP, TOPIC, broker_setting
from tidelog.metadata.configs import ResourceType

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

ALL_BROKERS_NAME = ""
COLUMNS = {"setting": text, "value": text, "source": text, "read_only": flag}
EXAMPLES = """\
  tidelog configs get --topic orders
  tidelog configs set --topic orders retention.ms=86400000
  tidelog configs set --cluster log.retention.ms=86400000
  tidelog configs unset --broker 1 log.cleaner.threads
"""
SOURCES = {
    ConfigSource.TOPIC: "topic",
    ConfigSource.BROKER: "this broker",
    ConfigSource.DEFAULT_BROKER: "cluster",
    ConfigSource.STATIC_BROKER: "server.properties",
    ConfigSource.DEFAULT: "default",
    ConfigSource.GROUP: "group",
    ConfigSource.CLIENT_METRICS: "client metrics",
    ConfigSource.BROKER_LOGGER: "logger",
    ConfigSource.UNKNOWN: "unknown",
}


def add_parser(commands: "Actions") -> None:
    help_text = "show and change the settings of topics, brokers and groups"
    parser = add_command(commands, "configs", help_text, examples=EXAMPLES, has_json=False)
    actions = add_actions(parser)
    _add_get(actions)
    change = add_client_command(actions, "set", "change settings", examples=EXAMPLES.splitlines()[1])
    _add_resource(change)
    change.add_argument("settings", nargs="+", metavar="KEY=VALUE", type=pair)
    change.set_defaults(run=run_set)
    unset = add_client_command(
        actions,
        "unset",
        "back to what holds otherwise: the cluster's, the file's, or the default",
        examples="tidelog configs unset --topic orders retention.ms",
    )
    _add_resource(unset)
    unset.add_argument("settings", nargs="+", metavar="KEY")
    unset.set_defaults(run=run_unset)


def _add_get(actions: "Actions") -> None:
    description = "Show settings: those that somebody has set, unless others are named or --all is given."
    examples = "tidelog configs get --topic orders\ntidelog configs get --broker 1 log.dirs num.partitions"
    parser = add_client_command(actions, "get", "show settings", description=description, examples=examples)
    _add_resource(parser)
    parser.add_argument("settings", nargs="*", metavar="KEY", help="only these")
    parser.add_argument("--all", action="store_true", help="with the defaults")
    parser.set_defaults(run=run_get)


def _add_resource(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--topic", metavar="NAME", help="of a topic")
    whose.add_argument("--broker", metavar="ID", help="of one broker")
    whose.add_argument("--cluster", action="store_true", help="the defaults of all brokers")
    whose.add_argument("--group", metavar="NAME", help="of a consumer group")


def resource_of(options: argparse.Namespace) -> tuple[ResourceType, str]:
    if options.topic is not None:
        return ResourceType.TOPIC, options.topic
    if options.group is not None:
        return ResourceType.GROUP, options.group
    return ResourceType.BROKER, ALL_BROKERS_NAME if options.cluster else options.broker


def run_get(options: argparse.Namespace) -> int:
    kind, name = resource_of(options)
    with connected(options) as client:
        found = Admin(client).describe_configs(kind, name, options.settings or None, synonyms=True, documentation=True)
    is_shown_whole = options.all or options.settings
    entries = [each for each in found.values() if is_shown_whole or each.source is not ConfigSource.DEFAULT]
    unknown = [key for key in options.settings if key not in found]
    if entries or not unknown:
        show_rows(_rows(entries), COLUMNS, as_json=options.json, empty="nothing is set; --all shows the defaults")
    if unknown:
        raise CommandFailed(f"no such setting: {', '.join(unknown)}; --all shows which there are")
    return 0


def _rows(entries: Iterable[ConfigEntry]) -> list[dict[str, Any]]:
    return [
        {
            "setting": each.name,
            "value": "(hidden)" if each.is_sensitive else each.value,
            "source": SOURCES[each.source],
            "read_only": each.is_read_only,
            "synonyms": [{"name": s.name, "value": s.value, "source": SOURCES[s.source]} for s in each.synonyms],
            "documentation": each.documentation,
        }
        for each in sorted(entries, key=lambda each: each.name)
    ]


def run_set(options: argparse.Namespace) -> int:
    kind, name = resource_of(options)
    values = dict(options.settings)
    with connected(options) as client:
        _checked(Admin(client), kind, name).set_configs(kind, name, values)
    return _conclude(kind, name, values, options)


def run_unset(options: argparse.Namespace) -> int:
    kind, name = resource_of(options)
    with connected(options) as client:
        admin = _checked(Admin(client), kind, name)
        check_known(admin, kind, name, options.settings)
        admin.unset_configs(kind, name, options.settings)
    return _conclude(kind, name, dict.fromkeys(options.settings), options)


def _checked(admin: Admin, kind: ResourceType, name: str) -> Admin:
    """Return the admin client, after checking that the topic exists: a wrong name is said at once, while a change of it
    would be tried again for a minute."""
    if kind is ResourceType.TOPIC:
        admin.describe_topic(name)
    return admin


def check_known(admin: Admin, kind: ResourceType, name: str, keys: Sequence[str]) -> None:
    """Refuse to unset a setting that does not exist: a broker, like Apache's, takes any name for one that is not set,
    and a misspelled one would seem done. A setting that the broker lists is known, whatever it is: one of another
    version can be taken out."""
    known = {ResourceType.TOPIC: TOPIC, ResourceType.GROUP: GROUP}.get(kind, BROKER)
    doubtful = [key for key in keys if (broker_setting(key) if known is BROKER else known.get(key)) is None]
    listed = admin.describe_configs(kind, name, doubtful) if doubtful else {}
    unknown = [unknown_setting(key, known) for key in doubtful if key not in listed]
    if unknown:
        raise CommandFailed("\n".join(map(str, unknown)))


def _conclude(
    kind: ResourceType, name: str, values: dict[str, str] | dict[str, None], options: argparse.Namespace
) -> int:
    resource = f"{kind.name.lower()} {name}" if name else "all brokers"
    rows = [{"resource": resource, "setting": key, "value": value} for key, value in values.items()]
    return conclude(rows, _changed, [], options)


def _changed(row: Row) -> str:
    if row["value"] is None:
        return f"unset {row['setting']} of {row['resource']}"
    return f"set {row['setting']} of {row['resource']}"
