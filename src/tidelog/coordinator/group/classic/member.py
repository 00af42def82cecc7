"""One member of a classic group, and what it waits for. It is live state: what lasts of it is in the group's record."""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidelog.coordinator.group.records.classic import MemberMetadata
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.protocol.messages.describe_groups import DescribedGroupMember

# The assignors (or whatever the protocol type means by it) that a member knows, best first, and its metadata for each.
Protocols: TypeAlias = tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class ClassicMember:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    # A new member has never been through a rebalance: it has no id yet to send heartbeats with, and may have given up.
    is_new: bool = False
    awaiting_join: CoordinatorRequest | None = None
    awaiting_sync: CoordinatorRequest | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Tell whether the member need not be heard of, because a request of its own is waiting. A new member may not
        wait for ever."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for a protocol; empty where it does not know the protocol, which only a damaged
        record brings about."""
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")

    def vote(self, candidates: Container[str]) -> str | None:
        return next((name for name, _ in self.protocols if name in candidates), None)

    def described(self, protocol_name: str | None) -> DescribedGroupMember:
        """Describe the member, with its metadata if the group has a protocol."""
        return DescribedGroupMember(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            member_metadata=b"" if protocol_name is None else self.metadata(protocol_name),
            member_assignment=self.assignment,
        )

    def to_record(self, protocol_name: str | None, assignment: bytes) -> MemberMetadata:
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.metadata(protocol_name),
            assignment=assignment,
        )

    def printed(self) -> dict[str, Any]:
        return {
            "instance": self.group_instance_id,
            "client": f"{self.client_id}{self.client_host}",
            "session timeout": self.session_timeout_ms,
            "rebalance timeout": self.rebalance_timeout_ms,
            "protocols": {name: metadata.hex() for name, metadata in self.protocols},
            "assignment": self.assignment.hex(),
            "is new": self.is_new,
            "awaits": [what for what, request in self._awaited() if request is not None],
        }

    def _awaited(self) -> list[tuple[str, CoordinatorRequest | None]]:
        return [("join", self.awaiting_join), ("sync", self.awaiting_sync)]


def member_from_record(stored: MemberMetadata, protocol_type: str, protocol_name: str | None) -> ClassicMember:
    """Return the member that a record describes. Of its protocols only the group's was written. The oldest records have
    no rebalance timeout."""
    has_rebalance_timeout = stored.rebalance_timeout != -1
    return ClassicMember(
        member_id=stored.member_id,
        group_instance_id=stored.group_instance_id,
        client_id=stored.client_id,
        client_host=stored.client_host,
        rebalance_timeout_ms=stored.rebalance_timeout if has_rebalance_timeout else stored.session_timeout,
        session_timeout_ms=stored.session_timeout,
        protocol_type=protocol_type,
        protocols=((protocol_name or "", bytes(stored.subscription)),),
        assignment=bytes(stored.assignment),
    )


def protocol_names(protocols: Iterable[tuple[str, bytes]]) -> list[str]:
    """Return each protocol once, however often a member names it."""
    return list(dict.fromkeys(name for name, _ in protocols))
