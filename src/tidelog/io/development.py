"""A node with embedded defaults, as `tidelog dev`, the demo and the testing kit use it: one voter, one directory."""

import os
from collections.abc import Mapping

from tidelog.config import (
    DEVELOPMENT_PROPERTIES,
    BrokerConfig,
    ConfigError,
    Loaded,
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
FREE_PORT = 0  # the runner puts the port that it gets where the voters say 0


@dataclass(slots=True)
class DevelopmentNode:
    directory: str
    host: str = "127.0.0.1"
    port: int = 9092
    advertise: str | None = None  # HOST:PORT
    overrides: Mapping[str, str] = field(default_factory=dict)


def development_config(node: DevelopmentNode, origin: str) -> Loaded:
    """The node's config, and what is worth a warning in its overrides. ConfigError where they are wrong or unknown.
    `origin` is where its user wrote the overrides."""
    host = f"[{node.host}]" if ":" in node.host else node.host
    asked = node.overrides.get("node.id", node.overrides.get("broker.id", "")).strip()
    node_id = asked if asked.isascii() and asked.isdigit() else "1"  # what is no number is refused under its own name
    properties = {
        **DEVELOPMENT_PROPERTIES,
        "process.roles": "broker,controller",
        "node.id": node_id,
        "controller.quorum.voters": f"{node_id}@{CONTROLLER_HOST}:{FREE_PORT}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{host}:{node.port},CONTROLLER://{CONTROLLER_HOST}:{FREE_PORT}",
        "log.dirs": node.directory,
        # A directory with its files each, made when the first consumer or transaction comes: fifty would be felt.
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
        # Nobody has seen the file that the lines are of.
        problems = [each.at(origin if each.name in node.overrides else "", 0) for each in error.problems]
        raise ConfigError(problems, error.code) from None
    return Loaded(with_absolute_directories(loaded.config), loaded.warnings)


def format_if_new(config: BrokerConfig) -> None:
    """A directory without meta.properties becomes that of a new cluster; any other is left as it is."""
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
