"""The quick way for an OffsetCommit that looks like the one before it on its connection.

A consumer repeats itself: the same group, member, generation, topic and partition, and only the offset is new. After a
commit of one partition (`learn`) the bytes around the offset are remembered; the next frame is compared with them, in
one comparison, instead of being parsed, and its record goes from bytes to bytes.

Whether the commit is allowed is asked of the group each time. Whatever does not fit goes the ordinary way, which is the
one that refuses: another shape, a group that is gone or says no, a coordinator that has others in line or may not
write. What is decided here is staged, replayed and held until it is committed, as everything is (`replicated`); only it
is decided ahead of the coordinators' part of the turn, which nobody can tell from having come first.

A path is forgotten when the metadata change (`Broker.generation`): what it knows of the topic is of that time.
Compiled by mypyc.
"""

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from tidelog.config.settings.groups import OFFSET_METADATA_MAX_BYTES
from tidelog.coordinator.group.coordinator import GroupCoordinator
from tidelog.coordinator.group.offset_bytes import commit_key_bytes, commit_value_bytes
from tidelog.coordinator.group.offsets.commit import BY_TOPIC_ID
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tidelog.protocol.server_connection import Request, encode_response

if TYPE_CHECKING:
    from tidelog.server.coordination.running_coordinator import CoordinatorShard
    from tidelog.server.node.broker import Broker
    from tidelog.server.requests.connection import ClientConnection

FIRST_FLEXIBLE: Final = 8
SHORT: Final = 0x7F  # the largest number that is one byte as a varint
_AFTER_CORRELATION: Final = 8  # in a frame, as in a response with its size
_OFFSET_COMMIT: Final = int(ApiKey.OFFSET_COMMIT)
_TRAILER: Final = b"\0\0\0"  # no tagged fields of partition, topic and request
_OFFSET_EPOCH: Final = Struct(">qi")
_KEY_VERSION_CORRELATION: Final = Struct(">hhi")


class CommitPath:
    """What is remembered of the last OffsetCommit of a connection, and of its answer."""

    def __init__(
        self,
        broker: "Broker",
        request: Request,
        body: OffsetCommitRequest,
        shard: "CoordinatorShard[GroupCoordinator]",
        topic: Any,
        prefix: bytes,
    ) -> None:
        self._broker = broker
        self._generation = broker.generation
        self._shard = shard
        self._family = broker.coordinators.groups
        self._prefix = prefix
        self._offset_after = _AFTER_CORRELATION + len(prefix)
        self._version = request.api_version
        self._group_id = body.group_id
        self._member_id = body.member_id
        self._instance_id = body.group_instance_id
        self._member_epoch = body.generation_id_or_member_epoch
        self._topic: str = topic.name
        self._topic_id: Uuid = topic.id
        self._partition: int = body.topics[0].partitions[0].partition_index
        self._metadata_max: int = broker.config.get(OFFSET_METADATA_MAX_BYTES)
        self._key: bytes | None = commit_key_bytes(self._group_id, self._topic, self._partition)
        encoded = b"".join(encode_response(0, self._said(ErrorCode.NONE), self._version))
        self._size = encoded[:4]
        self._rest = encoded[_AFTER_CORRELATION:]
        self._response = Struct(f">4si{len(self._rest)}s")

    def _said(self, code: ErrorCode) -> OffsetCommitResponse:
        answer = OffsetCommitResponsePartition(partition_index=self._partition, error_code=code)
        topic = OffsetCommitResponseTopic(name=self._topic, topic_id=self._topic_id, partitions=[answer])
        return OffsetCommitResponse(topics=[topic])

    def response(self, correlation_id: int, code: ErrorCode) -> bytes:
        if code is ErrorCode.NONE:
            return self._response.pack(self._size, correlation_id, self._rest)
        return b"".join(encode_response(correlation_id, self._said(code), self._version))

    def take(self, connection: "ClientConnection", start: int, end: int) -> bool:
        """Decide the commit in this frame; False where the frame has to be parsed."""
        buffer = connection.receive.buffer
        position = start + self._offset_after
        metadata_at = position + _OFFSET_EPOCH.size
        if end - metadata_at < 1 + len(_TRAILER):
            return False  # what looks like our prefix may lie behind the frame
        key, version, correlation_id = _KEY_VERSION_CORRELATION.unpack_from(buffer, start)
        if key != _OFFSET_COMMIT or version != self._version:
            return False
        if not buffer.startswith(self._prefix, start + _AFTER_CORRELATION):
            return False
        length = max(buffer[metadata_at] - 1, 0)
        if length >= SHORT or metadata_at + 1 + length + len(_TRAILER) != end:
            return False
        if not buffer.startswith(_TRAILER, end - len(_TRAILER)):
            return False
        offset, leader_epoch = _OFFSET_EPOCH.unpack_from(buffer, position)
        metadata = b"" if length == 0 else bytes(buffer[metadata_at + 1 : metadata_at + 1 + length])
        return self._commit(connection, correlation_id, offset, leader_epoch, metadata)

    def _commit(
        self, connection: "ClientConnection", correlation_id: int, offset: int, leader_epoch: int, metadata: bytes
    ) -> bool:
        if self._broker.generation != self._generation:
            connection.commit_path = None
            return False
        shard = self._shard
        if not shard.is_free or len(metadata) > self._metadata_max or not metadata.isascii():
            return False
        machine: Any = shard.replicated.machine
        groups = machine.shard
        group = self._committing(groups)
        if group is None:
            return False
        turn = connection.turn
        wall_ms = turn.wall_ms
        value = commit_value_bytes(offset, leader_epoch, metadata, wall_ms, self._topic_id)
        if self._key is None or value is None or not shard.log.gather_encoded(self._key, value, wall_ms):
            return False
        group.after_offset_commit(turn.monotonic_ms, self._member_id)
        groups.count("offset-commits")
        groups.offsets.replay_commit(
            self._group_id,
            self._topic,
            self._partition,
            offset,
            leader_epoch,
            metadata.decode(),
            wall_ms,
            self._topic_id,
        )
        answer = _Answer(self, connection, connection.protocol.open_unread(), correlation_id, turn.began_ns)
        shard.replicated.hold(answer.reply, ErrorCode.NONE)
        self._family.has_decided(shard)
        return True

    def _committing(self, groups: Any) -> Any:
        """Return the group, where it allows the commit; None where it is gone or says no."""
        group = groups.groups.get(self._group_id)
        if group is None:
            return None
        try:
            check = group.validate_offset_commit(
                self._member_id,
                self._instance_id,
                self._member_epoch,
                is_transactional=False,
                api_version=self._version,
            )
        except ApiError:
            return None
        return group if check is None else None


class _Answer:
    """The answer to one commit, which is given when the commit is in the log, or never will be."""

    def __init__(
        self, path: CommitPath, connection: "ClientConnection", sequence: int, correlation_id: int, began_ns: int
    ) -> None:
        self._path = path
        self._connection = connection
        self._sequence = sequence
        self._correlation_id = correlation_id
        self._began_ns = began_ns

    def reply(self, code: ErrorCode) -> None:
        connection, turn = self._connection, self._connection.turn
        connection.complete(self._sequence, [self._path.response(self._correlation_id, code)])
        if turn.began_ns == self._began_ns:
            turn.quick_commits += 1
        else:
            now_ns = connection.broker.clock.monotonic_ns()
            began_ns = self._began_ns
            turn.request_metrics.answered(_OFFSET_COMMIT, began_ns, began_ns, began_ns, now_ns)


def learn(connection: "ClientConnection", request: Request, body: OffsetCommitRequest, frame_start: int) -> None:
    """Remember the shape of a commit that goes the ordinary way; whether it is allowed does not matter."""
    broker = connection.broker
    if request.api_version < FIRST_FLEXIBLE or len(body.topics) != 1 or len(body.topics[0].partitions) != 1:
        return
    asked = body.topics[0]
    topics = broker.image.topics
    topic = topics.by_name.get(asked.name) if request.api_version < BY_TOPIC_ID else topics.by_id.get(asked.topic_id)
    shard = broker.coordinators.groups.shard_of(body.group_id)
    if topic is None or shard is None or asked.partitions[0].partition_index not in topic.partitions:
        return
    offset_at = _offset_at(request, body)
    if offset_at is not None:
        prefix = bytes(request.buffer[frame_start + _AFTER_CORRELATION : offset_at])
        connection.commit_path = CommitPath(broker, request, body, shard, topic, prefix)


def _offset_at(request: Request, body: OffsetCommitRequest) -> int | None:
    """Return the position of the offset in the buffer, counted from the frame's end and verified. None for frames of
    another shape."""
    partition = body.topics[0].partitions[0]
    metadata = (partition.committed_metadata or "").encode()
    at = request.end - len(_TRAILER) - len(metadata) - 1 - _OFFSET_EPOCH.size
    if at < request.position or len(metadata) >= SHORT:
        return None
    found = _OFFSET_EPOCH.unpack_from(request.buffer, at)
    is_found = found == (partition.committed_offset, partition.committed_leader_epoch)
    return at if is_found and request.buffer.endswith(_TRAILER, 0, request.end) else None
