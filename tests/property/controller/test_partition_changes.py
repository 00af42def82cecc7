"""For any partition, any change asked for and any set of live brokers, the changed partition is valid."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.controller.cluster import uuid

from tidelog.controller.partition_changes import Election, ElectionRules, change_partition
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.records.topics import PartitionRecord, TopicRecord
from tidelog.metadata.topics import NO_LEADER, LeaderRecoveryState, Partition

TOPIC = uuid(77)
REPLICAS = (1, 2, 3, 4)


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    replicas = tuple(draw(st.permutations(REPLICAS))[: draw(st.integers(1, 4))])
    isr = tuple(each for each in replicas if draw(st.booleans()))
    elr = tuple(each for each in replicas if each not in isr and draw(st.booleans()))
    leader = draw(st.sampled_from((*isr, NO_LEADER)))
    moving = len(replicas) > 1 and draw(st.booleans())
    return Partition(
        replicas,
        tuple(uuid(200 + each) for each in replicas),
        isr,
        leader,
        5,
        9,
        adding_replicas=replicas[:1] if moving and draw(st.booleans()) else (),
        removing_replicas=replicas[-1:] if moving else (),
        elr=elr,
        last_known_elr=(draw(st.sampled_from(replicas)),) if leader == NO_LEADER and draw(st.booleans()) else (),
    )


def replayed(partition: Partition, record: object) -> Partition:
    draft = MetadataDraft()
    draft.replay(TopicRecord(name="t", topic_id=TOPIC))
    draft.replay(
        PartitionRecord(
            partition_id=0,
            topic_id=TOPIC,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            removing_replicas=list(partition.removing_replicas),
            adding_replicas=list(partition.adding_replicas),
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            directories=list(partition.directories),
            eligible_leader_replicas=list(partition.elr),
            last_known_elr=list(partition.last_known_elr),
        )
    )
    draft.replay(record)
    return draft.topics.by_name["t"].partitions[0]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    partitions(),
    st.frozensets(st.sampled_from(REPLICAS)),
    st.one_of(st.none(), st.frozensets(st.sampled_from(REPLICAS))),
    st.sampled_from(Election),
    st.booleans(),
    st.integers(1, 3),
)
def test_in_order(
    partition: Partition,
    alive: frozenset[int],
    leaving: frozenset[int] | None,
    election: Election,
    elr_enabled: bool,
    min_isr: int,
) -> None:
    rules = ElectionRules(
        min_isr=min(min_isr, len(partition.replicas)),
        elr_enabled=elr_enabled,
        is_acceptable_leader=lambda _, broker: broker in alive and broker not in (leaving or ()),
        default_directory=lambda broker: uuid(200 + broker),
        election=election,
    )
    isr = None if leaving is None else [each for each in partition.isr if each not in leaving]
    record = change_partition(TOPIC, 0, partition, rules, isr=isr)
    if record is None:
        return
    after = replayed(partition, record)
    assert (after.partition_epoch, after.leader_epoch) == (10, 5 + (record.leader != -2))
    assert set(after.isr) | set(after.elr) <= set(after.replicas)
    assert not set(after.isr) & set(after.elr)
    if after.leader != NO_LEADER:
        assert after.leader in after.isr
        assert after.leader in alive
    was_clean = after.leader_recovery_state is LeaderRecoveryState.RECOVERED
    if after.leader not in (NO_LEADER, partition.leader) and was_clean:
        assert after.leader in (*partition.isr, *partition.elr), "elected cleanly, yet it may miss records"
    if not elr_enabled:
        assert not after.elr
        assert after.isr or not partition.isr, "the last one in sync was forgotten"
