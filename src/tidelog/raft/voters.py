"""Who has a vote: the voter set, from `controller.quorum.voters` or from the log itself (KIP-853).

A static voter is known by its id alone. A dynamic one is known by its id and the id of its metadata directory too, so
that a node which comes back with an empty disk is not taken for the voter that it was.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tidelog.config.endpoints import Voter, parse_voter
from tidelog.model.ids import ZERO_UUID, NodeId, Uuid, format_uuid, parse_uuid
from tidelog.model.lazy_dataclass import dataclass
from tidelog.protocol.control_records import Endpoint, KRaftVersionFeature, VotersRecord, VotersRecordVoter

VOTERS_RECORD_VERSION: Final = 0
# The levels of `kraft.version`: 0 has static voters, 1 has them in the log.
KRAFT_VERSION_MIN: Final = 0
KRAFT_VERSION_MAX: Final = 1


class ReplicaKey(NamedTuple):
    """The id of a replica and of its metadata directory; `directory_id` is zero where it is not known."""

    id: NodeId
    directory_id: Uuid = ZERO_UUID

    def means(self, other: "ReplicaKey") -> bool:
        """Tell whether the other is the one that this key names, by its id alone where no directory is known."""
        return self.id == other.id and self.directory_id in (ZERO_UUID, other.directory_id)

    def __str__(self) -> str:
        return f"{self.id}" if self.directory_id == ZERO_UUID else f"{self.id} ({format_uuid(self.directory_id)})"


class VoterEndpoint(NamedTuple):
    listener: str
    host: str
    port: int


@dataclass(slots=True, frozen=True)
class VoterNode:
    key: ReplicaKey
    endpoints: tuple[VoterEndpoint, ...]
    kraft_version_min: int = KRAFT_VERSION_MIN
    kraft_version_max: int = KRAFT_VERSION_MAX

    def is_voter(self, key: ReplicaKey) -> bool:
        return self.key.means(key)


class VoterSet:
    """The voters by id, in the order in which they were given, which is the order in the record."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Iterable[VoterNode] = ()) -> None:
        self._nodes: dict[NodeId, VoterNode] = {}
        for node in nodes:
            if node.key.id in self._nodes:
                raise ValueError(f"voter {node.key.id} is named twice")
            self._nodes[node.key.id] = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VoterSet) and self._nodes == other._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VoterSet({', '.join(str(node.key) for node in self.nodes)})"

    @property
    def nodes(self) -> Sequence[VoterNode]:
        return list(self._nodes.values())

    @property
    def ids(self) -> list[NodeId]:
        return list(self._nodes)

    @property
    def majority(self) -> int:
        return len(self._nodes) // 2 + 1

    def is_voter(self, key: ReplicaKey) -> bool:
        node = self._nodes.get(key.id)
        return node is not None and node.is_voter(key)

    def is_only_voter(self, key: ReplicaKey) -> bool:
        return len(self._nodes) == 1 and self.is_voter(key)

    def is_outdated(self, node: VoterNode) -> bool:
        """Tell whether this very voter now has other endpoints, or supports other versions, than the set says."""
        known = self._nodes.get(node.key.id)
        return known is not None and known.is_voter(node.key) and known != node

    def with_node(self, node: VoterNode) -> "VoterSet":
        """Return the same set, with what this voter says of itself now."""
        return VoterSet(node if each.key.id == node.key.id else each for each in self.nodes)


def static_voters(entries: Iterable[str], listener: str) -> VoterSet:
    """Return the voters of `controller.quorum.voters`: `id@host:port` each."""
    return VoterSet(_static_voter(parse_voter(entry), listener) for entry in entries)


def _static_voter(voter: Voter, listener: str) -> VoterNode:
    """Return the voter with the lowest version, because what versions it supports is not known before it is asked."""
    endpoint = VoterEndpoint(listener, voter.address.host, voter.address.port)
    return VoterNode(ReplicaKey(NodeId(voter.node_id)), (endpoint,), KRAFT_VERSION_MIN, KRAFT_VERSION_MIN)


def parse_dynamic_voters(text: str, listener: str) -> VoterSet:
    """Return the voters of `--initial-controllers`: `id@host:port:directory`, separated by commas; ValueError says what
    is wrong."""
    entries = [entry for entry in text.strip().split(",") if entry]
    if not entries:
        raise ValueError("no voters are named")
    return VoterSet(_parse_dynamic_voter(entry, listener) for entry in entries)


def _parse_dynamic_voter(text: str, listener: str) -> VoterNode:
    address, colon, directory = text.strip().rpartition(":")
    if not colon:
        raise ValueError(f"{text!r} is not id@host:port:directory")
    try:
        voter = parse_voter(address)
        directory_id = parse_uuid(directory)
    except ValueError as error:
        raise ValueError(f"{text!r} is not id@host:port:directory: {error}") from error
    endpoint = VoterEndpoint(listener, voter.address.host, voter.address.port)
    return VoterNode(ReplicaKey(NodeId(voter.node_id), directory_id), (endpoint,))


def to_record(voters: VoterSet) -> VotersRecord:
    return VotersRecord(version=VOTERS_RECORD_VERSION, voters=[_to_record(node) for node in voters.nodes])


def _to_record(node: VoterNode) -> VotersRecordVoter:
    return VotersRecordVoter(
        voter_id=node.key.id,
        voter_directory_id=node.key.directory_id,
        endpoints=[Endpoint(name=each.listener, host=each.host, port=each.port) for each in node.endpoints],
        kraft_version_feature=KRaftVersionFeature(
            min_supported_version=node.kraft_version_min, max_supported_version=node.kraft_version_max
        ),
    )


def from_record(record: VotersRecord) -> VoterSet:
    return VoterSet(_from_record(voter) for voter in record.voters)


def _from_record(voter: VotersRecordVoter) -> VoterNode:
    endpoints = tuple(VoterEndpoint(each.name, each.host, each.port) for each in voter.endpoints)
    feature = voter.kraft_version_feature
    key = ReplicaKey(NodeId(voter.voter_id), Uuid(voter.voter_directory_id))
    return VoterNode(key, endpoints, feature.min_supported_version, feature.max_supported_version)
