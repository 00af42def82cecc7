"""What a JoinGroup says of its member, whatever its version."""

from typing import Final

from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.member import ClassicMember, Protocols
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest

HAS_REBALANCE_TIMEOUT: Final = 1
REASON_CHARACTERS: Final = 255  # the limit that Kafka's clients keep to


def protocols_of(message: JoinGroupRequest) -> Protocols:
    return tuple((protocol.name, bytes(protocol.metadata)) for protocol in message.protocols)


def rebalance_timeout_of(request: CoordinatorRequest) -> int:
    message: JoinGroupRequest = request.message
    has_own = request.api_version >= HAS_REBALANCE_TIMEOUT
    return message.rebalance_timeout_ms if has_own else message.session_timeout_ms


def reason_of(message: JoinGroupRequest) -> str:
    return f"its reason: {message.reason[:REASON_CHARACTERS]!r}" if message.reason else "it gave no reason"


def update_member(group: ClassicGroup, member: ClassicMember, request: CoordinatorRequest) -> None:
    """Take over what the member says in this JoinGroup."""
    message: JoinGroupRequest = request.message
    group.update(member, protocols_of(message), rebalance_timeout_of(request), message.session_timeout_ms)
