"""AddOffsetsToTxn and TxnOffsetCommit: a group's offsets as part of a transaction."""

from functools import partial

from tests.interop.apache.transactions.asking import V1, V2, Asking, Producer, Versions
from tests.interop.apache.transactions.script import Scenario, Script

from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

METADATA_BYTES_MAX = 4096  # offset.metadata.max.bytes


def _versions(commit_version: int) -> Versions:
    return (V2 if commit_version >= 5 else V1)._replace(commit_offsets=commit_version)


def committed(asking: Asking, group_id: str, *, require_stable: bool = False) -> None:
    topics = [OffsetFetchRequestTopics(name=asking.topic, partition_indexes=[0, 1])]
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
    asking.script.ask(request, 9, "stable ones only" if require_stable else "what is committed")


def adds_offsets(script: Script, version: int) -> None:
    asking = Asking(script, V1._replace(add_offsets=version))
    first = asking.init(asking.id)
    producer = asking.init(asking.id)
    asking.add_offsets(Producer("nobody", 4_000, 0), "readers", why="an id that does not exist")
    asking.add_offsets(producer._replace(transactional_id=""), "readers", why="an empty id")
    asking.add_offsets(first, "readers", why="an old epoch")
    asking.add_offsets(producer._replace(producer_id=producer.producer_id + 1_000_000), "readers", why="another id")
    asking.add_offsets(producer, "", why="an empty group id")
    asking.describe(asking.id)
    asking.add_offsets(producer, "readers")
    asking.add_offsets(producer, "readers", why="again")
    asking.describe(asking.id)
    asking.end(producer)
    asking.describe(asking.id)


def with_add(script: Script, version: int) -> None:
    asking, group = Asking(script, _versions(version)), f"{script.name}-group"
    producer = asking.init(asking.id)
    for commit, offset in ((True, 7), (False, 9)):
        asking.add_offsets(producer, group)
        asking.commit_offsets(producer, group, offset, metadata="note")
        asking.commit_offsets(producer, group, offset + 1, partitions=[0, 1], metadata=None, why="over it")
        committed(asking, group)
        committed(asking, group, require_stable=True)
        after = asking.end(producer, commit=commit)
        committed(asking, group)
        committed(asking, group, require_stable=True)
        asking.commit_offsets(producer, group, 99, why="after the end, as who it was")
        asking.describe(asking.id)
        asking.end(after, commit=False)
        producer = asking.init(asking.id)
    committed(asking, group, require_stable=True)


def without_add(script: Script, version: int) -> None:
    asking, group = Asking(script, _versions(version)), f"{script.name}-group"
    first = asking.init(asking.id)
    producer = asking.init(asking.id)
    asking.commit_offsets(producer, group, 5, why="nobody was told before")
    asking.describe(asking.id)
    committed(asking, group, require_stable=True)
    asking.commit_offsets(first, group, 6, why="an old epoch")
    asking.commit_offsets(producer.at(producer.epoch + 1), group, 6, why="an epoch to come")
    asking.commit_offsets(producer._replace(producer_id=999_999), group, 6, why="another producer id")
    asking.commit_offsets(producer._replace(transactional_id="nobody"), group, 6, why="an unknown transactional id")
    asking.commit_offsets(producer._replace(transactional_id=""), group, 6, why="an empty transactional id")
    asking.end(producer)
    committed(asking, group, require_stable=True)


def wrong_commits(script: Script, version: int) -> None:
    asking, group = Asking(script, _versions(version)), f"{script.name}-group"
    producer = asking.init(asking.id)
    asking.add_offsets(producer, group)
    asking.commit_offsets(producer, group, topic="no-such-topic", why="an unknown topic")
    asking.commit_offsets(producer, group, partitions=[0, 2], why="mixed with an unknown partition")
    asking.commit_offsets(producer, "", why="an empty group id")
    asking.commit_offsets(producer, group, metadata="x" * (METADATA_BYTES_MAX + 1), why="metadata too large")
    asking.commit_offsets(producer, group, metadata="x" * METADATA_BYTES_MAX, why="as large as may be")
    asking.commit_offsets(producer, group, -1, partitions=[1], why="a negative offset")
    asking.commit_offsets(producer, group, topic="", why="a topic without a name")
    asking.end(producer)
    committed(asking, group)


def members(script: Script, version: int) -> None:
    """A consumer hands its membership to the producer, so that a zombie's offsets are refused (KIP-447)."""
    asking, group = Asking(script, _versions(version)), f"{script.name}-group"
    producer = asking.init(asking.id)
    asking.add_offsets(producer, group)
    asking.commit_offsets(producer, group, member=("", 1), why="no such group, a generation")
    asking.commit_offsets(producer, group, member=("somebody", 1), why="no such group, a member")
    asking.commit_offsets(producer, group, instance_id="static", why="no such group, an instance")
    member = _member(asking, group)
    asking.commit_offsets(producer, group, member=(member, 1), why="the member")
    asking.commit_offsets(producer, group, member=(member, 0), why="an earlier generation")
    asking.commit_offsets(producer, group, member=(member, 2), why="a generation to come")
    asking.commit_offsets(producer, group, member=("somebody", 1), why="an unknown member")
    asking.commit_offsets(producer, group, member=("", 1), why="a generation, and no member")
    asking.commit_offsets(producer, group, member=(member, -1), why="a member, and no generation")
    asking.commit_offsets(producer, group, member=(member, 1), instance_id="static", why="an unknown instance")
    asking.commit_offsets(producer, group, 8, why="nobody in particular")
    asking.end(producer)
    committed(asking, group)


def _member(asking: Asking, group: str) -> str:
    """Make a classic group with one member, in generation 1; return the member's id."""

    def join(member_id: str) -> JoinGroupRequest:
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
        return JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=protocols,
        )

    member = asking.script.ask(join(""), 5).member_id
    generation = asking.script.ask(join(member), 5).generation_id
    assignments = [SyncGroupRequestAssignment(member_id=member, assignment=b"")]
    request = SyncGroupRequest(group_id=group, generation_id=generation, member_id=member, assignments=assignments)
    asking.script.ask(request, 3)
    return str(member)


def consumer_members(script: Script, version: int) -> None:
    """Members of a KIP-848 group hand on their membership too: their epoch stands for the generation."""
    asking, group, member = Asking(script, _versions(version)), f"{script.name}-group", "member-1"
    join = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=member,
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=[asking.topic],
        topic_partitions=[],
    )
    epoch = asking.script.ask(join, 1).member_epoch
    producer = asking.init(asking.id)
    asking.add_offsets(producer, group)
    asking.commit_offsets(producer, group, member=(member, epoch), why="the member")
    asking.commit_offsets(producer, group, member=(member, epoch - 1), why="an earlier epoch")
    asking.commit_offsets(producer, group, member=(member, epoch + 1), why="an epoch to come")
    asking.commit_offsets(producer, group, member=("somebody", epoch), why="an unknown member")
    asking.commit_offsets(producer, group, member=("", epoch), why="an epoch, and no member")
    asking.commit_offsets(producer, group, member=(member, -1), why="a member, and no epoch")
    asking.commit_offsets(producer, group, 8, why="nobody in particular")
    asking.end(producer)
    committed(asking, group)


def deleted_meanwhile(script: Script, version: int) -> None:
    """Offsets are staged; then the group or its offsets are deleted, or somebody else commits."""
    asking, group = Asking(script, _versions(version)), f"{script.name}-group"
    producer = asking.init(asking.id)
    for commit in (True, False):
        asking.add_offsets(producer, group)
        asking.commit_offsets(producer, group, 5, partitions=[0, 1])
        _commit_plainly(asking, group, 3)
        committed(asking, group)
        committed(asking, group, require_stable=True)
        wanted = OffsetDeleteRequestTopic(
            name=asking.topic, partitions=[OffsetDeleteRequestPartition(partition_index=1)]
        )
        script.ask(OffsetDeleteRequest(group_id=group, topics=[wanted]), 0)
        committed(asking, group, require_stable=True)
        script.ask(DeleteGroupsRequest(groups_names=[group]), 2)
        committed(asking, group, require_stable=True)
        producer = asking.end(producer, commit=commit)
        committed(asking, group, require_stable=True)
        script.ask(DescribeGroupsRequest(groups=[group]), 6)
        script.ask(DeleteGroupsRequest(groups_names=[group]), 2)


def _commit_plainly(asking: Asking, group: str, offset: int) -> None:
    wanted = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="plain")
    topics = [OffsetCommitRequestTopic(name=asking.topic, partitions=[wanted])]
    asking.script.ask(OffsetCommitRequest(group_id=group, member_id="", topics=topics), 8)


SCENARIOS: dict[str, Scenario] = {
    **{f"add-offsets-v{version}": partial(adds_offsets, version=version) for version in range(5)},
    **{
        f"{name}-v{version}": partial(scenario, version=version)
        for version in range(6)
        for name, scenario in (
            ("offsets-added", with_add),
            ("offsets-not-added", without_add),
            ("offsets-wrong", wrong_commits),
            ("offsets-deleted", deleted_meanwhile),
        )
    },
    **{f"offsets-members-v{version}": partial(members, version=version) for version in (3, 4, 5)},
    **{f"offsets-consumers-v{version}": partial(consumer_members, version=version) for version in (3, 4, 5)},
}
