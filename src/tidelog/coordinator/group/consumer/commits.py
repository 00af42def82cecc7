"""Which offsets a member of a consumer group may commit and read.

A commit that overtakes a heartbeat's answer comes with the epoch before. It is fine for what the member has had since
then (KIP-1251), and refused for what it got later: it cannot know of that yet, so the commit is from before it had it.
"""

from tidelog.coordinator.group.consumer.member import ConsumerMember
from tidelog.coordinator.group.shard import CommitPartitionCheck
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid

# The first version of OffsetCommit that says STALE_MEMBER_EPOCH to a client that understands it.
_FIRST_COMMIT_VERSION = 9


def check_commit(
    member: ConsumerMember, epoch: int, api_version: int, *, is_transactional: bool
) -> CommitPartitionCheck | None:
    if not is_transactional and not member.is_classic and api_version < _FIRST_COMMIT_VERSION:
        raise ApiError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"a member of the consumer protocol commits with version {_FIRST_COMMIT_VERSION} or later",
        )
    if epoch == member.epoch:
        return None
    if epoch > member.epoch:
        raise _stale(member, f"the member's epoch is {member.epoch}, not yet {epoch}")

    def check_partition(topic_id: Uuid, partition: int) -> None:
        assigned_in = member.assignment_epoch(topic_id, partition)
        if assigned_in is None:
            raise _stale(member, f"partition {partition} is not the member's")
        if epoch < assigned_in:
            raise _stale(member, f"partition {partition} is the member's since epoch {assigned_in}, not {epoch}")

    return check_partition


def check_fetch(member: ConsumerMember, epoch: int) -> None:
    if epoch != member.epoch:
        raise _stale(member, f"the member's epoch is {member.epoch}, not {epoch}")


def _stale(member: ConsumerMember, why: str) -> ApiError:
    return ApiError(ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH, why)
