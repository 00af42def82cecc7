"""A consumer group in plain values, in a fixed order: what people see, and what a live state and a fresh replay are
compared by."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from tidelog.coordinator.group.consumer.member import Assigned, ConsumerMember
from tidelog.coordinator.group.consumer.subscriptions import Subscriptions
from tidelog.model.ids import Uuid, format_uuid


class PrintedGroup(Protocol):
    """The attributes of a group that are printed; a protocol, because the group's own module imports this one."""

    epoch: int
    metadata_hash: int
    target_epoch: int
    target_timestamp_ms: int
    members: dict[str, ConsumerMember]
    static_members: dict[str, str]
    subscriptions: Subscriptions
    owners: dict[Uuid, dict[int, str]]
    server_assignors: dict[str, int]
    classic_supporters: dict[str, int]
    classic_count: int
    has_partition_metadata: bool

    @property
    def state_name(self) -> str: ...

    @property
    def target(self) -> Mapping[str, Mapping[Uuid, Iterable[int]]]: ...


def printed(group: PrintedGroup) -> dict[str, Any]:
    return {
        "type": "consumer",
        "state": group.state_name,
        "epoch": group.epoch,
        "metadata_hash": group.metadata_hash,
        "target_epoch": group.target_epoch,
        "target_timestamp_ms": group.target_timestamp_ms,
        "members": {member_id: _printed_member(group.members[member_id]) for member_id in sorted(group.members)},
        "target": {member_id: _plain(group.target[member_id]) for member_id in sorted(group.target)},
        "owners": {
            format_uuid(topic_id): dict(sorted(group.owners[topic_id].items())) for topic_id in sorted(group.owners)
        },
        "static_members": _sorted(group.static_members),
        "topics": _sorted(group.subscriptions.by_name),
        "topics_by_regex": _sorted(group.subscriptions.by_regex),
        "regexes": _sorted(group.subscriptions.regexes),
        "resolved": {
            regex: {"topics": list(resolved.topics), "version": resolved.version, "timestamp_ms": resolved.timestamp_ms}
            for regex, resolved in sorted(group.subscriptions.resolved.items())
        },
        "server_assignors": _sorted(group.server_assignors),
        "classic_members": group.classic_count,
        "classic_protocols": _sorted(group.classic_supporters),
        "has_partition_metadata": group.has_partition_metadata,
    }


def _printed_member(member: ConsumerMember) -> dict[str, Any]:
    return {
        "epoch": member.epoch,
        "previous_epoch": member.previous_epoch,
        "state": member.state.name,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "topics": list(member.topics),
        "regex": member.regex,
        "server_assignor": member.server_assignor,
        "classic_protocols": [protocol.name for protocol in member.classic_protocols] if member.is_classic else None,
        "classic_session_timeout_ms": member.classic.session_timeout_ms if member.classic is not None else None,
        "assigned": _with_epochs(member.assigned),
        "pending_revocation": _with_epochs(member.pending_revocation),
    }


def _plain(target: Mapping[Uuid, Iterable[int]]) -> dict[str, list[int]]:
    return {format_uuid(topic_id): sorted(target[topic_id]) for topic_id in sorted(target)}


def _with_epochs(assigned: Assigned) -> dict[str, dict[int, int]]:
    return {format_uuid(topic_id): dict(sorted(assigned[topic_id].items())) for topic_id in sorted(assigned)}


def _sorted(counts: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(counts.items()))
