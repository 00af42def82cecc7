"""`meta.properties`: whose log directory this is. A node refuses to start on another cluster's or another node's data.

Version 1 always has cluster.id and node.id; version 0, also that of a file without a version, may lack either and says
broker.id. A directory.id tells the directories of a node apart, wherever they are mounted.
"""

from collections.abc import Mapping
from typing import Final, TypeVar

from tidelog.config.properties import format_properties, parse_properties
from tidelog.model.ids import NodeId, Uuid, format_uuid, parse_uuid
from tidelog.model.lazy_dataclass import dataclass
from tidelog.ports.durable import replace_durably
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.errors import CorruptMetaPropertiesError
from tidelog.storage.checkpoints.small_files import read_if_present

META_PROPERTIES: Final = "meta.properties"
_RESERVED_DIRECTORY_IDS: Final = 100  # Kafka keeps the lowest ids for "unassigned", "lost" and the like
_MAX_NODE_ID: Final = 2**31 - 1

T = TypeVar("T")


@dataclass(slots=True)
class MetaProperties:
    version: int = 1
    cluster_id: str | None = None
    node_id: NodeId | None = None
    directory_id: Uuid | None = None


def read_meta_properties(fs: FileSystem, directory: str) -> MetaProperties | None:
    """Return what `meta.properties` says, or None in a new directory, which has no such file. Raises
    CorruptMetaPropertiesError when the file can not be believed."""
    path = join(directory, META_PROPERTIES)
    contents = read_if_present(fs, path)
    return None if contents is None else decode_meta_properties(contents, path)


def write_meta_properties(fs: FileSystem, directory: str, properties: MetaProperties) -> None:
    replace_durably(fs, join(directory, META_PROPERTIES), encode_meta_properties(properties))


def encode_meta_properties(properties: MetaProperties) -> bytes:
    if properties.version and (properties.cluster_id is None or properties.node_id is None):
        raise ValueError("version 1 needs cluster.id and node.id")
    node_id_key = "node.id" if properties.version else "broker.id"
    entries = {
        "version": str(properties.version),
        "cluster.id": properties.cluster_id,
        node_id_key: None if properties.node_id is None else str(properties.node_id),
        "directory.id": None if properties.directory_id is None else format_uuid(properties.directory_id),
    }
    return format_properties({key: value for key, value in entries.items() if value is not None}).encode("ascii")


def decode_meta_properties(contents: bytes, path: str) -> MetaProperties:
    try:
        return _from_entries(parse_properties(contents.decode("latin-1")))  # Java's encoding of these files
    except ValueError as error:
        raise CorruptMetaPropertiesError(path, str(error)) from error


def _from_entries(entries: dict[str, str]) -> MetaProperties:
    version = _number(entries, "version", 1) if "version" in entries else 0
    node_id_key = "node.id" if version else "broker.id"
    if version:
        for key in ("cluster.id", "node.id"):
            if key not in entries:
                raise ValueError(f"{key} is missing")
    directory_id = entries.get("directory.id")
    return MetaProperties(
        version,
        entries.get("cluster.id"),
        NodeId(_number(entries, node_id_key, _MAX_NODE_ID)) if node_id_key in entries else None,
        None if directory_id is None else parse_uuid(directory_id),
    )


def _number(entries: dict[str, str], key: str, maximum: int) -> int:
    text = entries[key].strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or int(text) > maximum:
        raise ValueError(f"{key} is not a number from 0 to {maximum}: {text!r}")
    return int(text)


def check_directories(
    found: Mapping[str, MetaProperties], cluster_id: str | None = None, node_id: NodeId | None = None
) -> None:
    """Check that the log directories of one node, given by their paths, belong together: one cluster and one node (the
    expected ones, or else those of the first directory that names them), and a directory id of its own for each."""
    owners: dict[Uuid, str] = {}
    for directory, properties in found.items():
        path = join(directory, META_PROPERTIES)
        cluster_id = _same(path, "cluster.id", properties.cluster_id, cluster_id)
        node_id = _same(path, "node.id", properties.node_id, node_id)
        directory_id = properties.directory_id
        if directory_id is None:
            continue
        if int.from_bytes(directory_id) < _RESERVED_DIRECTORY_IDS:
            raise CorruptMetaPropertiesError(path, f"directory.id {format_uuid(directory_id)} is a reserved one")
        if directory_id in owners:
            raise CorruptMetaPropertiesError(path, f"it has the directory.id of {owners[directory_id]}")
        owners[directory_id] = directory


def _same(path: str, key: str, found: T | None, expected: T | None) -> T | None:
    if found is not None and expected is not None and found != expected:
        raise CorruptMetaPropertiesError(path, f"{key} is {found}, but {expected} was expected")
    return found if expected is None else expected
