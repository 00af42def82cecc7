"""A node with embedded defaults, as `tidelog dev`, the demo and the testing kit use it: one voter, one directory."""

import os
from collections.abc import Mapping

from tidelog.config import (
    DEVELOPMENT_PROPERTIES,
    BrokerConfig,
    ConfigError,
    LoadedConfig,
    format_properties,
    load_broker_config,
)
from tidelog.config.settings import node as node_settings
from tidelog.io.clock import SystemClock
from tidelog.io.directories import with_absolute_directories
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import NodeId, format_uuid
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.entropy import random_uuid
from tidelog.raft.voters import VoterEndpoint
from tidelog.server.node.formatting import FormatRequest, format_log_dirs
from tidelog.storage.checkpoints.meta_properties import read_meta_properties

CONTROLLER_HOST = "127.0.0.1"
FREE_PORT = 0  # the runner replaces this, also in the voters, by the port that it gets


@dataclass(slots=True)
class DevelopmentNode:
    """A node to run in one directory, with a few settings of its own."""

    directory: str
    host: str = "127.0.0.1"
    port: int = 9092
    advertise: str | None = None  # HOST:PORT
    overrides: Mapping[str, str] = field(default_factory=dict)


def development_config(node: DevelopmentNode, origin: str) -> LoadedConfig:
    """Return the node's config, and warnings about its overrides. ConfigError where they are wrong or unknown. `origin`
    is where the user wrote the overrides."""
    host = f"[{node.host}]" if ":" in node.host else node.host
    asked = node.overrides.get("node.id", node.overrides.get("broker.id", "")).strip()
    node_id = asked if asked.isascii() and asked.isdigit() else "1"  # one that is no number is refused below
    properties = {
        **DEVELOPMENT_PROPERTIES,
        "process.roles": "broker,controller",
        "node.id": node_id,
        "controller.quorum.voters": f"{node_id}@{CONTROLLER_HOST}:{FREE_PORT}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{host}:{node.port},CONTROLLER://{CONTROLLER_HOST}:{FREE_PORT}",
        "log.dirs": node.directory,
        # Each partition is a directory with files, created for the first consumer or transaction: fifty take long.
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
    }
    if node.advertise is not None:
        properties["advertised.listeners"] = f"PLAINTEXT://{node.advertise}"
    text = format_properties({**properties, **node.overrides})
    try:
        loaded = load_broker_config(text, must_be_known=node.overrides)
    except ConfigError as error:
        # The line numbers are of a file that the user has never seen.
        problems = [each.at(origin if each.name in node.overrides else "", 0) for each in error.problems]
        raise ConfigError(problems, error.code) from None
    return LoadedConfig(with_absolute_directories(loaded.config), loaded.warnings)


def format_if_new(config: BrokerConfig) -> None:
    """Format the log directories for a new cluster, unless one of them has a meta.properties already."""
    fs, entropy = PosixFileSystem(), SystemEntropy()
    for path in config.log_dirs:
        os.makedirs(path, exist_ok=True)
    if all(read_meta_properties(fs, path) is None for path in config.log_dirs):
        request = FormatRequest(
            cluster_id=format_uuid(random_uuid(entropy)),
            node_id=NodeId(config.get(node_settings.NODE_ID)),
            log_dirs=config.log_dirs,
            metadata_log_dir=config.log_dirs[0],
            is_controller=True,
            has_static_voters=True,
            controller_endpoint=VoterEndpoint("CONTROLLER", CONTROLLER_HOST, FREE_PORT),
        )
        format_log_dirs(fs, entropy, request, SystemClock().wall_ms())
    fs.close()
