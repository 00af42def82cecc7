"""`tidelog cluster describe`: who is in it, who leads it, what it has agreed on, and how full its disks are."""

import argparse
from typing import TYPE_CHECKING, Any

from tidelog.cli.arguments.offset_arguments import shown_time
from tidelog.cli.arguments.parsers import add_actions, add_command
from tidelog.cli.cluster.connecting import add_client_command, connected
from tidelog.cli.output.rows import NOTHING, flag, number, show_json, show_rows, show_title, size, text
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.cluster import LogDirDescription, QuorumDescription, QuorumReplica
from tidelog.model.ids import format_uuid

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

EXAMPLES = """\
  tidelog cluster describe
  tidelog cluster describe --json | jq .quorum
"""


def _time(value: Any) -> str:
    return NOTHING if value < 0 else shown_time(value)


BROKER_COLUMNS = {"id": number, "host": text, "port": number, "rack": text, "is_controller": flag, "is_fenced": flag}
QUORUM_COLUMNS = {"id": number, "role": text, "log_end_offset": number, "lag": number, "last_caught_up": _time}
FEATURE_COLUMNS = {"feature": text, "level": number, "supported": text}
LOG_DIR_COLUMNS = {
    "broker": number,
    "path": text,
    "replicas": number,
    "used": size,
    "free": size,
    "total": size,
    "state": text,
}


def add_parser(commands: "Commands") -> None:
    parser = add_command(commands, "cluster", "who is in the cluster, and how it is", examples=EXAMPLES, has_json=False)
    help_text = "brokers, controller, metadata quorum, features, log directories"
    describe = add_client_command(add_actions(parser), "describe", help_text, examples=EXAMPLES)
    describe.set_defaults(run=run_describe)


def run_describe(options: argparse.Namespace) -> int:
    with connected(options) as client:
        facts = gather(Admin(client))
    if options.json:
        show_json([facts])
        return 0
    show_title(f"cluster {facts['cluster_id']}")
    show_rows(facts["brokers"], BROKER_COLUMNS, as_json=False, empty="no brokers")
    quorum = facts["quorum"]
    show_title(f"\nmetadata quorum: leader {quorum['leader']}, epoch {quorum['epoch']}, "
               f"high watermark {quorum['high_watermark']}")  # fmt: skip
    show_rows(quorum["replicas"], QUORUM_COLUMNS, as_json=False)
    show_title("\nfeatures")
    show_rows(facts["features"], FEATURE_COLUMNS, as_json=False)
    show_title("\nlog directories")
    show_rows(facts["log_dirs"], LOG_DIR_COLUMNS, as_json=False)
    return 0


def gather(admin: Admin) -> dict[str, Any]:
    cluster = admin.describe_cluster(include_fenced=True)
    brokers = [
        {
            "id": each.id,
            "host": each.host,
            "port": each.port,
            "rack": each.rack,
            "is_controller": each.id == cluster.controller_id,
            "is_fenced": each.is_fenced,
        }
        for each in sorted(cluster.brokers, key=lambda each: each.id)
    ]
    features = [
        {"feature": each.name, "level": each.finalized, "supported": f"{each.supported_min}-{each.supported_max}"}
        for each in sorted(admin.describe_features(), key=lambda each: each.name)
    ]
    log_dirs = [_log_dir(broker, each) for broker, dirs in admin.describe_log_dirs().items() for each in dirs]
    return {
        "cluster_id": cluster.cluster_id,
        "controller": cluster.controller_id,
        "brokers": brokers,
        "quorum": _quorum(admin.describe_quorum()),
        "features": features,
        "log_dirs": log_dirs,
    }


def _quorum(found: QuorumDescription) -> dict[str, Any]:
    leader = next((each for each in found.voters if each.id == found.leader_id), None)
    end = leader.log_end_offset if leader else found.high_watermark
    roles = [(each, "leader" if each is leader else "voter") for each in found.voters]
    roles += [(each, "observer") for each in found.observers]
    return {
        "leader": found.leader_id,
        "epoch": found.leader_epoch,
        "high_watermark": found.high_watermark,
        "replicas": [_quorum_replica(each, role, end) for each, role in roles],
    }


def _quorum_replica(replica: QuorumReplica, role: str, end: int) -> dict[str, Any]:
    return {
        "id": replica.id,
        "directory_id": format_uuid(replica.directory_id),
        "role": role,
        "log_end_offset": replica.log_end_offset,
        "lag": max(0, end - replica.log_end_offset),
        "last_fetch": replica.last_fetch_timestamp,
        "last_caught_up": replica.last_caught_up_timestamp,
    }


def _log_dir(broker: int, found: LogDirDescription) -> dict[str, Any]:
    return {
        "broker": broker,
        "path": found.path,
        "replicas": len(found.replicas),
        "used": sum(each.size_bytes for each in found.replicas),
        "free": found.usable_bytes,
        "total": found.total_bytes,
        "state": str(found.error) if found.error else "cordoned" if found.is_cordoned else "online",
    }
