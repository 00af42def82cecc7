"""The files of a node at its start: the log directories, which are locked first; what they say the node is; and the
metadata log. Whatever does not belong together is refused here, in words, before anything is changed.
"""

from collections.abc import Iterator, Mapping

from tidelog.config import BrokerConfig
from tidelog.config.settings import log as log_settings
from tidelog.config.settings import metadata_log as metadata_settings
from tidelog.config.settings import node as node_settings
from tidelog.config.settings import quorum as quorum_settings
from tidelog.config.settings import transactions
from tidelog.config.settings.cleaner import LOG_CLEANER_THREADS
from tidelog.config.settings.metrics import METRICS_LISTENER
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.model.ids import NodeId, Uuid
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.files import FileSystem
from tidelog.ports.network import Address
from tidelog.ports.paths import join
from tidelog.raft.voters import VoterEndpoint, VoterSet, static_voters
from tidelog.server.http.connections import CONNECTIONS_MAX as HTTP_CONNECTIONS_MAX
from tidelog.server.metadata_log.bootstrap_checkpoint import read_bootstrap
from tidelog.server.metadata_log.loading import LoadedMetadataLog, load_metadata_log
from tidelog.server.metadata_log.log_config import metadata_log_config
from tidelog.server.node.descriptor_budget import DescriptorBudget, share_out
from tidelog.server.produce.preparations import WORKERS_MAX as BATCH_WORKERS_MAX
from tidelog.storage.checkpoints.errors import CorruptMetaPropertiesError
from tidelog.storage.checkpoints.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    check_directories,
    read_meta_properties,
)
from tidelog.storage.directories.loading import ConfigOf, LoadProgress
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.loader import LogContext
from tidelog.storage.producers.state import ProducerStateConfig
from tidelog.storage.segment.descriptors import Descriptors

NO_DIRECTORY_ID = Uuid(bytes(16))


class NotFormatted(Exception):
    """A log directory has no meta.properties: nobody has said which cluster it belongs to."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} is not formatted; run `tidelog format` first (or `tidelog dev`, which does it itself)"
        )
        self.path = path


class WrongNodeId(Exception):
    """The configuration names one node, and the log directories belong to another."""

    def __init__(self, path: str, found: int, configured: int) -> None:
        super().__init__(
            f"node.id={configured} is configured, but {path} belongs to node {found}; correct node.id where it is "
            "configured (server.properties or --override), or name another directory in log.dirs"
        )


class UnservedRoles(Exception):
    """The node is to be a broker without a controller, or the other way round: that takes a cluster of several."""

    def __init__(self, roles: tuple[str, ...]) -> None:
        super().__init__(
            f"process.roles={','.join(roles)}: a node is a cluster of its own yet, so it has to be both; set "
            "process.roles=broker,controller, and listeners for both"
        )


@dataclass(slots=True)
class NodeFiles:
    cluster_id: str
    context: LogContext
    logs: Logs
    loading: Iterator[LoadProgress]
    progress: LoadProgress
    metadata: LoadedMetadataLog
    metadata_directory_id: Uuid
    bootstrap: list[MetadataRecord]
    controller_listener: str
    directory_ids: Mapping[str, Uuid]  # by path, of the log directories that could be opened

    def cordoned_ids(self) -> list[Uuid]:
        cordoned = self.logs.cordoned
        return [each for path, each in self.directory_ids.items() if path in cordoned or "*" in cordoned]

    def release(self) -> None:
        """Without a stop in order: what a dead process leaves behind, but for its locks and descriptors."""
        _release(self.context, self.logs)
        self.metadata.log.release()

    def controller_endpoint(self, bound: Mapping[str, Address]) -> VoterEndpoint:
        """Where other voters would find this node's controller."""
        address = bound.get(self.controller_listener, Address("localhost", 0))
        return VoterEndpoint(self.controller_listener, address.host, address.port)


def metadata_directory(config: BrokerConfig) -> str:
    return config.get(metadata_settings.METADATA_LOG_DIR) or config.log_dirs[0]


def controller_listener(config: BrokerConfig) -> str:
    names = config.listener_plan.controller_names
    return names[0] if names else "CONTROLLER"


def voters_of(config: BrokerConfig) -> VoterSet:
    entries: tuple[str, ...] = config.get(quorum_settings.CONTROLLER_QUORUM_VOTERS)
    return static_voters(entries, controller_listener(config))


def budget_of(config: BrokerConfig, descriptors: int) -> DescriptorBudget:
    has_metrics = config.get(METRICS_LISTENER) is not None
    return share_out(
        descriptors,
        directories=len(dict.fromkeys([*config.log_dirs, metadata_directory(config)])),
        workers=config.get(LOG_CLEANER_THREADS) + BATCH_WORKERS_MAX,
        others=len(config.listener_plan.listeners) + (HTTP_CONNECTIONS_MAX + 1 if has_metrics else 0),
    )


def open_node_files(
    config: BrokerConfig, fs: FileSystem, config_of: ConfigOf, wall_ms: int, budget: DescriptorBudget
) -> NodeFiles:
    plan = config.listener_plan
    if not (plan.is_broker and plan.is_controller):
        raise UnservedRoles(plan.roles)
    producers = ProducerStateConfig(
        expiration_ms=config.get(transactions.PRODUCER_ID_EXPIRATION_MS),
        verification_enabled=config.get(transactions.TRANSACTION_PARTITION_VERIFICATION_ENABLE),
        max_transaction_timeout_ms=config.get(transactions.TRANSACTION_MAX_TIMEOUT_MS),
    )
    descriptors = Descriptors(fs, budget.open_files, pins_max=budget.pinned_files)
    context = LogContext(descriptors, producers)
    cordoned: tuple[str, ...] = config.get(log_settings.CORDONED_LOG_DIRS)
    reserved_bytes = config.get(log_settings.LOG_DIR_RESERVED_BYTES)
    logs = Logs(context, config.log_dirs, config_of, reserved_bytes, cordoned)
    try:
        return _open(config, context, logs, wall_ms)
    except BaseException:
        _release(context, logs)
        raise


def _release(context: LogContext, logs: Logs) -> None:
    context.descriptors.close()
    for directory in logs.directories.values():
        directory.release()


def _open(config: BrokerConfig, context: LogContext, logs: Logs, wall_ms: int) -> NodeFiles:
    fs = context.fs
    loading = logs.load(wall_ms)
    progress = next(loading)
    directory = metadata_directory(config)
    properties = _properties(config, fs, logs, directory)
    cluster_id = properties[directory].cluster_id or ""
    takes_lock = directory not in logs.directories
    metadata = load_metadata_log(
        context, directory, metadata_log_config(config), voters_of(config), wall_ms, takes_lock=takes_lock
    )
    if directory in logs.directories:
        metadata.log.ballast.share(logs.directories[directory].room)
    return NodeFiles(
        cluster_id,
        context,
        logs,
        loading,
        progress,
        metadata,
        properties[directory].directory_id or NO_DIRECTORY_ID,
        read_bootstrap(fs, directory),
        controller_listener(config),
        {
            path: each.directory_id
            for path, each in properties.items()
            if path in logs.directories and each.directory_id
        },
    )


def _properties(config: BrokerConfig, fs: FileSystem, logs: Logs, directory: str) -> dict[str, MetaProperties]:
    found: dict[str, MetaProperties] = {}
    for path in dict.fromkeys([*logs.directories, directory]):
        known = logs.directories.get(path)
        if known is not None and not known.is_online:
            continue
        properties = read_meta_properties(fs, path)
        if properties is None:
            raise NotFormatted(path)
        found[path] = properties
    if directory not in found:  # it is a log directory, and offline: the node can do nothing without its metadata
        fault = logs.directories[directory].fault
        assert fault is not None
        raise fault
    node_id = NodeId(config.get(node_settings.NODE_ID))
    owners = {each.node_id for each in found.values()} - {None}
    if len(owners) == 1 and (owner := owners.pop()) is not None and owner != node_id:
        raise WrongNodeId(directory, owner, node_id)
    check_directories(found, None, node_id)
    for path, each in found.items():
        if each.cluster_id is None:  # an empty file, or a remnant from before KRaft: nobody would ever let it join
            raise CorruptMetaPropertiesError(join(path, META_PROPERTIES), "it names no cluster.id")
    return found
