"""`tidelog format`: makes the log directories of a node that belongs to a cluster.

    every log directory      bootstrap.checkpoint, then meta.properties, which says that the directory is formatted
    the metadata directory   with dynamic voters also __cluster_metadata-0 with the first snapshot: who they are

It refuses what kafka-storage refuses, before it writes anything. What is formatted already is never touched: by default
it is a reason to refuse, with `ignore_formatted` it is left alone.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from tidelog.metadata.bootstrap import bootstrap_records, initial_feature_levels
from tidelog.metadata.errors import MetadataError
from tidelog.metadata.feature_levels import LATEST_METADATA_VERSION, METADATA_VERSION, parse_metadata_version
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.model.ids import NodeId, Uuid
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.durable import make_directory_durably, replace_durably
from tidelog.ports.entropy import Entropy, random_uuid
from tidelog.ports.errors import AlreadyExists, NotFound, StorageFault
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join, parent_of
from tidelog.raft.voters import ReplicaKey, VoterEndpoint, VoterNode, VoterSet, parse_dynamic_voters
from tidelog.server.metadata_log.bootstrap_checkpoint import write_bootstrap
from tidelog.server.metadata_log.log import METADATA_PARTITION
from tidelog.server.metadata_log.snapshot_writer import QuorumRecords, snapshot_contents
from tidelog.server.metadata_log.snapshots import BOOTSTRAP_SNAPSHOT, snapshot_path
from tidelog.storage.checkpoints.errors import CorruptMetaPropertiesError
from tidelog.storage.checkpoints.meta_properties import (
    MetaProperties,
    check_directories,
    read_meta_properties,
    write_meta_properties,
)
from tidelog.storage.names import partition_directory

KRAFT_VERSION_DYNAMIC: Final = 1
_LIMIT_BYTES: Final = 1 << 20


class FormatError(Exception):
    """Nothing was formatted, and why."""


@dataclass(slots=True)
class FormatRequest:
    """The node's configuration, and the flags of the command, named as kafka-storage's are."""

    cluster_id: str
    node_id: NodeId
    log_dirs: Sequence[str]  # with the metadata log's among them
    metadata_log_dir: str
    is_controller: bool
    has_static_voters: bool  # controller.quorum.voters
    controller_endpoint: VoterEndpoint  # where others find this node's controller
    ignore_formatted: bool = False
    release_version: str | None = None
    features: Mapping[str, int] = field(default_factory=dict)
    standalone: bool = False
    initial_controllers: str | None = None
    no_initial_controllers: bool = False
    extra_records: Sequence[MetadataRecord] = ()  # SCRAM credentials


@dataclass(slots=True)
class FormatReport:
    levels: dict[str, int]
    formatted: list[str] = field(default_factory=list)
    already_formatted: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)  # and why


def format_log_dirs(fs: FileSystem, entropy: Entropy, request: FormatRequest, wall_ms: int) -> FormatReport:
    _check(request)
    voters = _initial_voters(request, entropy)
    report = FormatReport(_feature_levels(request))
    found = _read_all(fs, request, report)
    new = [path for path in sorted(request.log_dirs) if path in found and found[path] is None]
    plan = _plan(request, new, found, voters, entropy)
    records = [*bootstrap_records(report.levels), *request.extra_records]
    for path, properties in plan.items():
        _format(fs, request, path, properties, voters, records, wall_ms)
        report.formatted.append(path)
    return report


# What is refused


def _check(request: FormatRequest) -> None:
    if request.node_id < 0:
        raise FormatError(f"node.id is {request.node_id}, and has to be 0 or higher")
    if not request.cluster_id.strip():
        raise FormatError("a cluster id is needed; `random-uuid` makes one")
    if not request.log_dirs:
        raise FormatError("there is no log directory to format")
    if request.metadata_log_dir not in request.log_dirs:
        raise FormatError(f"the metadata directory {request.metadata_log_dir} is not among the ones to format")
    _check_quorum(request)


def _check_quorum(request: FormatRequest) -> None:
    ways = {
        "--standalone": request.standalone,
        "--initial-controllers": request.initial_controllers is not None,
        "--no-initial-controllers": request.no_initial_controllers,
    }
    chosen = [flag for flag, is_set in ways.items() if is_set]
    if len(chosen) > 1:
        raise FormatError(f"{' and '.join(chosen)} exclude each other")
    if request.has_static_voters and (request.standalone or request.initial_controllers is not None):
        raise FormatError(
            f"{chosen[0]} makes a quorum with dynamic voters, and controller.quorum.voters names static ones: "
            "remove it and set controller.quorum.bootstrap.servers instead"
        )
    if request.is_controller and not request.has_static_voters and not chosen:
        raise FormatError(f"this controller has no controller.quorum.voters, so one of {', '.join(ways)} is needed")
    if request.standalone and not request.is_controller:
        raise FormatError("--standalone is for a controller, which this node is not")


def _feature_levels(request: FormatRequest) -> dict[str, int]:
    features = dict(request.features)
    if METADATA_VERSION in features and request.release_version is not None:
        raise FormatError(f"--release-version and --feature {METADATA_VERSION} both say the same thing: give one")
    try:
        level = features.pop(METADATA_VERSION, LATEST_METADATA_VERSION)
        if request.release_version is not None:
            level = parse_metadata_version(request.release_version)
        return initial_feature_levels(level, features, dynamic_quorum=not request.has_static_voters)
    except (ValueError, MetadataError) as error:
        raise FormatError(str(error)) from error


def _initial_voters(request: FormatRequest, entropy: Entropy) -> VoterSet | None:
    endpoint = request.controller_endpoint
    if request.standalone:
        key = ReplicaKey(request.node_id, random_uuid(entropy))
        return VoterSet([VoterNode(key, (endpoint,))])
    if request.initial_controllers is None:
        return None
    try:
        return parse_dynamic_voters(request.initial_controllers, endpoint.listener)
    except ValueError as error:
        raise FormatError(f"--initial-controllers: {error}") from error


def _read_all(fs: FileSystem, request: FormatRequest, report: FormatReport) -> dict[str, MetaProperties | None]:
    """Whose each readable directory is; None for nobody's."""
    found: dict[str, MetaProperties | None] = {}
    for path in sorted(request.log_dirs):
        try:
            found[path] = read_meta_properties(fs, path)
        except CorruptMetaPropertiesError as error:
            raise FormatError(str(error)) from error
        except StorageFault as fault:
            report.unreadable.append(str(fault))
    formatted = {path: each for path, each in found.items() if each is not None}
    _check_together(formatted, request)
    if formatted and not request.ignore_formatted:
        raise FormatError(f"{next(iter(formatted))} is formatted already; --ignore-formatted leaves it and goes on")
    if not found:
        raise FormatError(f"no log directory can be read: {'; '.join(report.unreadable)}")
    report.already_formatted = list(formatted)
    return found


def _check_together(properties: Mapping[str, MetaProperties], request: FormatRequest) -> None:
    try:
        check_directories(properties, request.cluster_id, request.node_id)
    except CorruptMetaPropertiesError as error:
        step = "it is formatted already, for another node or cluster: name another directory, or remove its files"
        raise FormatError(f"{error}; {step}") from error


# What is written


def _plan(
    request: FormatRequest,
    new: Sequence[str],
    found: Mapping[str, MetaProperties | None],
    voters: VoterSet | None,
    entropy: Entropy,
) -> dict[str, MetaProperties]:
    plan = {
        path: MetaProperties(1, request.cluster_id, request.node_id, _directory_id(request, path, voters, entropy))
        for path in new
    }
    formatted = {path: each for path, each in found.items() if each is not None}
    _check_together({**formatted, **plan}, request)
    return plan


def _directory_id(request: FormatRequest, path: str, voters: VoterSet | None, entropy: Entropy) -> Uuid:
    """The one that the voters were told, for the metadata directory of one of them."""
    if path == request.metadata_log_dir and voters is not None:
        for node in voters.nodes:
            if node.key.id == request.node_id:
                return node.key.directory_id
    return random_uuid(entropy)


def _format(
    fs: FileSystem,
    request: FormatRequest,
    path: str,
    properties: MetaProperties,
    voters: VoterSet | None,
    records: Sequence[MetadataRecord],
    wall_ms: int,
) -> None:
    try:
        _make_directories(fs, path)
        write_bootstrap(fs, path, records, wall_ms)
        if path == request.metadata_log_dir and voters is not None:
            _write_voters(fs, path, voters, wall_ms)
        write_meta_properties(fs, path, properties)
    except StorageFault as fault:
        raise FormatError(f"{path} could not be formatted: {fault}") from fault


def _make_directories(fs: FileSystem, path: str) -> None:
    """With those above it."""
    try:
        with suppress(AlreadyExists):
            make_directory_durably(fs, path)
    except NotFound:
        _make_directories(fs, parent_of(path))
        make_directory_durably(fs, path)


def _write_voters(fs: FileSystem, path: str, voters: VoterSet, wall_ms: int) -> None:
    directory = join(path, partition_directory(*METADATA_PARTITION))
    with suppress(AlreadyExists):
        make_directory_durably(fs, directory)
    quorum = QuorumRecords(KRAFT_VERSION_DYNAMIC, voters)
    contents = snapshot_contents(BOOTSTRAP_SNAPSHOT.epoch, wall_ms, quorum, (), wall_ms, _LIMIT_BYTES)
    replace_durably(fs, snapshot_path(directory, BOOTSTRAP_SNAPSHOT), b"".join(contents))
