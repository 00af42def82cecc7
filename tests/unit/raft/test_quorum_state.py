"""`quorum-state`, as Kafka writes it."""

import pytest

from tidelog.model.ids import NodeId, Uuid, parse_uuid
from tidelog.raft.quorum_state import CorruptQuorumStateError, ElectionState, decode_quorum_state, encode_quorum_state
from tidelog.raft.voters import ReplicaKey, static_voters

VOTERS = static_voters(["1@one:9093", "2@two:9093"], "CONTROLLER")
VOTED = ReplicaKey(NodeId(1), parse_uuid("J8aAPcfLQt2bqs1JT_rMgQ"))

# As Apache's broker leaves them.
VERSION_0 = (
    b'{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
)
VERSION_1 = b'{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}'


def test_version_0() -> None:
    state = ElectionState(2, NodeId(1), None)
    assert encode_quorum_state(state, 0, VOTERS) == VERSION_0
    assert decode_quorum_state(VERSION_0, "/q") == state


def test_version_1() -> None:
    state = ElectionState(2, None, VOTED)
    assert encode_quorum_state(state, 1, VOTERS) == VERSION_1
    assert decode_quorum_state(VERSION_1, "/q") == state


def test_version_0_forgets_the_directory_of_the_vote_and_nothing_else() -> None:
    decoded = decode_quorum_state(encode_quorum_state(ElectionState(7, None, VOTED), 0, VOTERS), "/q")
    assert decoded == ElectionState(7, None, ReplicaKey(NodeId(1)))


def test_nobody() -> None:
    for version in (0, 1):
        state = ElectionState(3)
        assert decode_quorum_state(encode_quorum_state(state, version, VOTERS), "/q") == state
    assert Uuid(bytes(16)) == ReplicaKey(NodeId(0)).directory_id


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        VERSION_0[:-1],
        VERSION_1.replace(b'"data_version":1', b'"data_version":2'),
        VERSION_1.replace(b',"data_version":1', b""),
        VERSION_1.replace(b'"leaderEpoch":2', b'"leaderEpoch":-1'),
        VERSION_1.replace(b'"leaderEpoch":2', b'"leaderEpoch":"2"'),
        VERSION_1.replace(b'"leaderEpoch":2', b'"leaderEpoch":true'),
        VERSION_1.replace(b'"leaderEpoch":2', b'"leaderEpoch":2147483648'),
        VERSION_1.replace(b"J8aAPcfLQt2bqs1JT_rMgQ", b"J8aA"),
        VERSION_1.replace(b'"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ",', b""),
    ],
)
def test_what_can_not_be_believed_is_refused(contents: bytes) -> None:
    with pytest.raises(CorruptQuorumStateError) as caught:
        decode_quorum_state(contents, "/data/quorum-state")
    assert caught.value.path == "/data/quorum-state"
