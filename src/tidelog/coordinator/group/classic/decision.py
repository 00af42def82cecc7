"""What is being decided about one group on one occasion: a request or a timer. Records and answers gather here."""

from dataclasses import dataclass, field
from typing import Any, Final

from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.member import ClassicMember
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import PENDING, Record, Result
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from tidelog.protocol.messages.sync_group import SyncGroupResponse

NO_MEMBER_ID: Final = ""
NAMES_NO_PROTOCOL: Final = 7  # the first JoinGroup whose response may have no protocol name
# A batch's header, and the most that a record has around its key and value.
FRAME_BYTES: Final = 61 + 32


@dataclass(slots=True)
class Decision:
    """The records and answers that one request or timer brings about."""

    shard: GroupShard
    now_ms: int
    wall_ms: int
    records: list[Record] = field(default_factory=list)
    answers: list[tuple[CoordinatorRequest, Any]] = field(default_factory=list)

    def answer_join(self, group: ClassicGroup, member: ClassicMember, response: JoinGroupResponse) -> None:
        """Answer the member's JoinGroup, if one is waiting."""
        request = member.awaiting_join
        if request is not None:
            group.await_join(member, None)
            self.answers.append((request, for_version(response, request.api_version)))

    def answer_sync(self, member: ClassicMember, response: SyncGroupResponse) -> bool:
        """Answer the member's SyncGroup, if one is waiting; return whether one was."""
        request, member.awaiting_sync = member.awaiting_sync, None
        if request is not None:
            self.answers.append((request, response))
        return request is not None

    def result(self, request: CoordinatorRequest | None = None, response: Any = PENDING) -> Result:
        """Return all records and answers. `request` gets `response`, or what it was answered with meanwhile; with
        PENDING it waits."""
        if request is None:
            return Result(self.records, None, answers=self.answers)
        others = []
        for answered, answer in self.answers:
            if answered is request:
                response = answer
            else:
                others.append((answered, answer))
        return Result(self.records, response, answers=others)


def joined(group: ClassicGroup, member: ClassicMember) -> JoinGroupResponse:
    """Return the answer to a JoinGroup: the current generation. The leader learns of all members, in order to assign to
    them."""
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation,
        protocol_type=group.protocol_type_or_none,
        protocol_name=group.protocol_name,
        leader=group.leader or NO_MEMBER_ID,
        member_id=member.member_id,
        members=listed(group) if group.leader == member.member_id else [],
    )


def listed(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(group.protocol_name),
        )
        for member in group.members.values()
    ]


def join_refused(code: ErrorCode, member_id: str, protocol_name: str | None = "") -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, protocol_name=protocol_name, leader="", member_id=member_id, members=[])


def sync_refused(code: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=code, assignment=b"")


def for_version(response: JoinGroupResponse, api_version: int) -> JoinGroupResponse:
    if response.protocol_name is None and api_version < NAMES_NO_PROTOCOL:
        response.protocol_name = ""
    return response


def fits(shard: GroupShard, record: Record) -> bool:
    """Tell whether the log takes the record. To be asked before deciding: what is replayed cannot be taken back."""
    message, version = record
    size_bytes = len(encode_key(message.key)) + len(encode_value(message.value, version) or b"")
    return size_bytes + FRAME_BYTES <= shard.max_record_bytes
