"""A node with embedded defaults, as `tidelog dev`, the demo and the testing kit use it: one voter, one directory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.config import DEVELOPMENT_PROPERTIES, BrokerConfig, format_properties, load_broker_config
from tidelog.config.settings import node as node_settings
from tidelog.io.clock import SystemClock
from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import NodeId, format_uuid
from tidelog.ports.entropy import random_uuid
from tidelog.raft.voters import VoterEndpoint
from tidelog.server.formatting import FormatRequest, format_log_dirs
from tidelog.storage.meta_properties import read_meta_properties

CONTROLLER_PORT = 9093  # named as the voter's; nobody connects to the controller of a single node


@dataclass(slots=True)
class DevelopmentNode:
    directory: Path
    host: str = "127.0.0.1"
    port: int = 9092
    advertise: str | None = None  # HOST:PORT
    overrides: Mapping[str, str] = field(default_factory=dict)


def development_config(node: DevelopmentNode) -> BrokerConfig:
    """ConfigError for overrides that are wrong."""
    host = f"[{node.host}]" if ":" in node.host else node.host
    properties = {
        **DEVELOPMENT_PROPERTIES,
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@localhost:{CONTROLLER_PORT}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{host}:{node.port},CONTROLLER://127.0.0.1:0",
        "log.dirs": str(node.directory),
        # A directory with its files each, made when the first consumer or transaction comes: fifty would be felt.
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
    if node.advertise is not None:
        properties["advertised.listeners"] = f"PLAINTEXT://{node.advertise}"
    text = format_properties({**properties, **node.overrides})
    return load_broker_config(text, "the development node's settings").config


def format_if_new(config: BrokerConfig) -> None:
    """A directory without meta.properties becomes that of a new cluster; any other is left as it is."""
    fs, entropy = PosixFileSystem(), SystemEntropy()
    for path in config.log_dirs:
        Path(path).mkdir(parents=True, exist_ok=True)
    if all(read_meta_properties(fs, path) is None for path in config.log_dirs):
        request = FormatRequest(
            cluster_id=format_uuid(random_uuid(entropy)),
            node_id=NodeId(config.get(node_settings.NODE_ID)),
            log_dirs=config.log_dirs,
            metadata_log_dir=config.log_dirs[0],
            is_controller=True,
            has_static_voters=True,
            controller_endpoint=VoterEndpoint("CONTROLLER", "localhost", CONTROLLER_PORT),
        )
        format_log_dirs(fs, entropy, request, SystemClock().wall_ms())
    fs.close()
