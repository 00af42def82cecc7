"""What a voter must not forget: the epoch it is in, whom it voted for there, and who leads. The file `quorum-state`.

One line of JSON, Kafka's own: version 0 with static voters, version 1 (which knows the directory of whom it voted for)
with `kraft.version` 1. It is replaced durably before anything that follows from it leaves the node: a vote that is
forgotten can be given twice, and then there are two leaders in one epoch.
"""

import json
from typing import Any, Final

from tidelog.model.ids import NO_NODE_ID, ZERO_UUID, NodeId, Uuid, format_uuid, parse_uuid
from tidelog.model.lazy_dataclass import dataclass
from tidelog.raft.voters import ReplicaKey, VoterSet

QUORUM_STATE: Final = "quorum-state"
_VERSION: Final = "data_version"
_MAX_INT32: Final = 2**31 - 1


class CorruptQuorumStateError(Exception):
    """The error for a file that can not be believed. Starting without it would forget a vote."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


@dataclass(slots=True, frozen=True)
class ElectionState:
    epoch: int = 0
    leader_id: NodeId | None = None
    voted: ReplicaKey | None = None


def encode_quorum_state(state: ElectionState, kraft_version: int, voters: VoterSet) -> bytes:
    leader_id = NO_NODE_ID if state.leader_id is None else state.leader_id
    voted_id = NO_NODE_ID if state.voted is None else state.voted.id
    common: dict[str, Any] = {"leaderId": leader_id, "leaderEpoch": state.epoch, "votedId": voted_id}
    if kraft_version == 0:
        ids = [{"voterId": voter_id} for voter_id in voters.ids]
        fields = {"clusterId": "", **common, "appliedOffset": 0, "currentVoters": ids, _VERSION: 0}
    else:
        directory_id = ZERO_UUID if state.voted is None else state.voted.directory_id
        fields = {**common, "votedDirectoryId": format_uuid(directory_id), _VERSION: 1}
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_quorum_state(contents: bytes, path: str) -> ElectionState:
    try:
        fields = json.loads(contents)
        if not isinstance(fields, dict):
            raise ValueError("it is not a JSON object")
        return _from_fields(fields)
    except (ValueError, KeyError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise CorruptQuorumStateError(path, reason) from error


def _from_fields(fields: dict[str, Any]) -> ElectionState:
    version = _number(fields, _VERSION)
    if version not in (0, 1):
        raise ValueError(f"{_VERSION} {version} is unknown")
    leader_id, epoch, voted_id = (_number(fields, key) for key in ("leaderId", "leaderEpoch", "votedId"))
    if epoch < 0:
        raise ValueError(f"leaderEpoch {epoch} is negative")
    return ElectionState(
        epoch,
        None if leader_id == NO_NODE_ID else NodeId(leader_id),
        None if voted_id == NO_NODE_ID else ReplicaKey(NodeId(voted_id), _directory_id(fields, version)),
    )


def _directory_id(fields: dict[str, Any], version: int) -> Uuid:
    return ZERO_UUID if version == 0 else parse_uuid(str(fields["votedDirectoryId"]))


def _number(fields: dict[str, Any], key: str) -> int:
    value = fields[key]
    if not isinstance(value, int) or isinstance(value, bool) or not -1 <= value <= _MAX_INT32:
        raise ValueError(f"{key} is not a number from -1 to {_MAX_INT32}: {value!r}")
    return value
