"""Groups as their coordinators know them: which there are, who is in them and reads what, and removing them.

A group is classic (its members arrange themselves) or a consumer group (KIP-848: the coordinator assigns). Whoever
describes a group need not know which: it is asked for as the newer kind first, as Kafka's own tools do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tidelog.client.admin.base import AdminBase, Outcomes
from tidelog.client.coordinators import CoordinatorClient, passing
from tidelog.client.errors import ClientError, UnsupportedByBroker, error_code
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.codec import decode
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.messages import consumer_group_describe as modern
from tidelog.protocol.messages import describe_groups as classic
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.stored import PREFIX_BYTES, read_prefix

CLASSIC = "classic"
CONSUMER_GROUP_TYPE = "consumer"
CONSUMER_PROTOCOL_TYPE = "consumer"
NEWEST_ASSIGNMENT = 3
DEAD = "Dead"  # how an older broker says that there is no such group
EMPTY = "Empty"


@dataclass(slots=True)
class ListedGroup:
    group_id: str
    state: str  # as Kafka names it; empty where the broker is too old to say
    type: str
    protocol_type: str  # "consumer", "connect", ...; empty: only offsets were committed
    coordinator: int


@dataclass(slots=True)
class MemberDescription:
    member_id: str
    instance_id: str | None  # of a static member
    client_id: str
    host: str
    assignment: list[TopicPartition]
    rack_id: str | None = None
    epoch: int | None = None  # only a consumer group's member has this and what follows
    subscribed_topics: list[str] = field(default_factory=list)
    subscribed_regex: str | None = None
    target: list[TopicPartition] | None = None  # what it will own once other members have let go of it


@dataclass(slots=True)
class GroupDescription:
    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: int
    members: list[MemberDescription]
    epoch: int | None = None
    assignment_epoch: int | None = None

    @property
    def is_live(self) -> bool:
        return bool(self.members) or self.state not in (EMPTY, DEAD)


class GroupAdmin(AdminBase):
    groups: CoordinatorClient

    def list_groups(self, states: Sequence[str] = (), types: Sequence[str] = ()) -> list[ListedGroup]:
        """List the groups of the whole cluster, by id; only those of the states and types that are named, if any."""
        self.client.refresh()
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        found: list[ListedGroup] = []
        for broker in sorted(self.client.metadata.nodes):
            asked = f"list the groups of broker {broker}"
            response = self.client.ask(request, asked, node_id=broker, failed=lambda each: each.error_code)
            self.require(response.error_code, asked)
            found += [
                ListedGroup(each.group_id, each.group_state, each.group_type, each.protocol_type, broker)
                for each in response.groups
            ]
        return sorted(found, key=lambda each: each.group_id)

    def describe_group(self, group_id: str) -> GroupDescription:
        outcome = self.describe_groups([group_id])[group_id]
        if isinstance(outcome, ClientError):
            raise outcome
        return outcome

    def describe_groups(
        self, group_ids: Iterable[str], types: Mapping[str, str] | None = None
    ) -> Outcomes[GroupDescription]:
        """Describe each group. `types` (from `list_groups`) spares a request for each group that it says is classic."""
        outcomes: Outcomes[GroupDescription] = {}
        for group_id in dict.fromkeys(group_ids):
            is_classic = (types or {}).get(group_id) == CLASSIC
            try:
                found = None if is_classic else self._describe_consumer(group_id)
                outcomes[group_id] = found or self._describe_classic(group_id)
            except ClientError as error:
                outcomes[group_id] = error
        return outcomes

    def _describe_consumer(self, group_id: str) -> GroupDescription | None:
        """Describe a consumer group. None: the group is of another kind, or the broker does not know this kind."""
        asked = f"describe group {group_id}"
        request = modern.ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
        try:
            response = self.groups.ask(group_id, request, asked, lambda each: each.groups[0].error_code)
        except UnsupportedByBroker:
            return None
        found: modern.DescribedGroup = response.groups[0]
        code = error_code(found.error_code)
        if code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
            return None
        self.require(found.error_code, asked, found.error_message)
        return GroupDescription(
            group_id,
            CONSUMER_GROUP_TYPE,
            found.group_state,
            CONSUMER_PROTOCOL_TYPE,
            found.assignor_name,
            self.groups.find(group_id),
            [_consumer_member(each) for each in found.members],
            found.group_epoch,
            found.assignment_epoch,
        )

    def _describe_classic(self, group_id: str) -> GroupDescription:
        asked = f"describe group {group_id}"
        request = classic.DescribeGroupsRequest(groups=[group_id])
        response = self.groups.ask(group_id, request, asked, lambda each: each.groups[0].error_code)
        found: classic.DescribedGroup = response.groups[0]
        code = ErrorCode.GROUP_ID_NOT_FOUND if found.group_state == DEAD else error_code(found.error_code)
        self.require(code, asked, None if code is ErrorCode.GROUP_ID_NOT_FOUND else found.error_message)
        is_consumer = found.protocol_type == CONSUMER_PROTOCOL_TYPE
        return GroupDescription(
            group_id,
            CLASSIC,
            found.group_state,
            found.protocol_type,
            found.protocol_data,
            self.groups.find(group_id),
            [_classic_member(each, is_consumer) for each in found.members],
        )

    def delete_groups(self, group_ids: Iterable[str]) -> Outcomes[None]:
        """Delete the groups with their offsets. A group that has members is refused."""
        outcomes: Outcomes[None] = {}
        for group_id in dict.fromkeys(group_ids):
            asked = f"delete group {group_id}"
            request = DeleteGroupsRequest(groups_names=[group_id])
            try:
                response = self.groups.ask(group_id, request, asked, lambda each: passing([each.results[0].error_code]))
                outcomes[group_id] = self.refusal(response.results[0].error_code, asked)
            except ClientError as error:
                outcomes[group_id] = error
        return outcomes


def _consumer_member(found: modern.Member) -> MemberDescription:
    return MemberDescription(
        found.member_id,
        found.instance_id,
        found.client_id,
        found.client_host,
        _partitions(found.assignment),
        found.rack_id,
        found.member_epoch,
        sorted(found.subscribed_topic_names),
        found.subscribed_topic_regex or None,
        _partitions(found.target_assignment),
    )


def _partitions(assignment: modern.Assignment) -> list[TopicPartition]:
    return sorted(
        TopicPartition(topic.topic_name, index) for topic in assignment.topic_partitions for index in topic.partitions
    )


def _classic_member(found: classic.DescribedGroupMember, is_consumer: bool) -> MemberDescription:
    assignment = assigned_by_leader(bytes(found.member_assignment)) if is_consumer else []
    return MemberDescription(found.member_id, found.group_instance_id, found.client_id, found.client_host, assignment)


def assigned_by_leader(data: bytes) -> list[TopicPartition]:
    """Decode the assignment that the leader of a classic group gave to a member. A version that is newer than ours is
    read as the newest that we know; bytes that are no assignment give an empty list."""
    if len(data) <= PREFIX_BYTES:
        return []
    version = min(read_prefix(data), NEWEST_ASSIGNMENT)
    try:
        found, _ = decode(ConsumerProtocolAssignment, data, max(0, version), PREFIX_BYTES)
    except ProtocolError:
        return []
    return sorted(TopicPartition(each.topic, index) for each in found.assigned_partitions for index in each.partitions)
