"""How one partition changes: its next leader, in-sync replicas and eligible leaders, as one PartitionChangeRecord.

    targets (isr, replicas, directories) -> finish a reassignment -> eligible leaders -> election -> record

Who may lead: a member of the ISR that is alive with its directory online; when the ISR is empty, one of the eligible
leader replicas (ELR, KIP-966: they left the ISR while it was below min ISR, so they hold everything committed). Then,
with ELR, the last leader known. Only if the topic allows it, any replica that lives: that election is unclean, it may
lose records, the ISR is then that leader alone and it is marked as recovering.
"""

from collections.abc import Callable, Sequence
from enum import Enum

from tidelog.metadata.records.topics import PartitionChangeRecord
from tidelog.metadata.topics import NO_LEADER, LeaderRecoveryState, Partition
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclass import dataclass, field

Ids = tuple[int, ...]
NO_LEADER_CHANGE = -2


class Election(Enum):
    # Keep the leader if it can stay, else the first replica that may lead.
    ONLINE = "online"
    # The first replica, if it may lead.
    PREFERRED = "preferred"
    # What ONLINE does, but rather a leader that misses records than none.
    UNCLEAN = "unclean"


@dataclass(slots=True, frozen=True)
class ElectionRules:
    """The rules that hold for a partition because of its topic and its cluster."""

    min_isr: int
    elr_enabled: bool
    is_acceptable_leader: Callable[[Partition, int], bool]
    default_directory: Callable[[int], Uuid]
    # From metadata.version 3.7-IV2 records name log directories.
    directories_supported: bool = True
    # Before 3.6-IV0 brokers rely on a new leader epoch whenever the ISR shrinks.
    epoch_bump_on_shrink: bool = False
    election: Election = Election.ONLINE


@dataclass(slots=True)
class _Targets:
    isr: Ids
    elr: Ids
    replicas: Ids
    adding: Ids
    removing: Ids
    directories: dict[int, Uuid]
    unclean: Ids = field(default=())


def change_partition(
    topic_id: Uuid,
    partition_id: int,
    partition: Partition,
    rules: ElectionRules,
    *,
    isr: Sequence[int] | None = None,
    unclean_shutdown: Sequence[int] = (),
    directory: tuple[int, Uuid] | None = None,
) -> PartitionChangeRecord | None:
    """Return the record that brings `partition` to what is asked and to what follows from it; None when nothing
    changes."""
    targets = _Targets(
        isr=partition.isr if isr is None else tuple(isr),
        elr=partition.elr,
        replicas=partition.replicas,
        adding=partition.adding_replicas,
        removing=partition.removing_replicas,
        directories=dict(zip(partition.replicas, partition.directories, strict=False)),
        unclean=tuple(unclean_shutdown),
    )
    if directory is not None:
        targets.directories[directory[0]] = directory[1]
    _complete_reassignment(targets)
    if rules.elr_enabled:
        _find_eligible(targets, partition, rules.min_isr)
    record = PartitionChangeRecord(partition_id=partition_id, topic_id=topic_id)
    _elect(record, targets, partition, rules)
    _set_replicas_in_sync(record, targets, partition, rules)
    if rules.elr_enabled:
        _remember_last_leader(record, partition)
    _set_assignment(record, targets, partition, rules)
    return None if _is_empty(record) else record


def _complete_reassignment(targets: _Targets) -> None:
    """Remove the replicas that are to go, when every replica being added is in sync."""
    if not targets.adding and not targets.removing:
        return
    isr = tuple(each for each in targets.isr if each not in targets.removing)
    replicas = tuple(each for each in targets.replicas if each not in targets.removing)
    shrinks = len(targets.adding) < len(targets.removing)
    awaited = targets.adding + (replicas if shrinks else ())
    if not isr or not replicas or not all(each in isr for each in awaited):
        return
    targets.isr, targets.replicas, targets.adding, targets.removing = isr, replicas, (), ()


def _find_eligible(targets: _Targets, partition: Partition, min_isr: int) -> None:
    """Set the eligible leaders. Below min ISR nothing is committed, so whoever was in the ISR until then holds
    everything that was."""
    if len(targets.isr) >= min_isr:
        targets.elr = ()
        return
    gone = (*targets.isr, *targets.unclean)
    candidates = sorted(dict.fromkeys(targets.elr + partition.isr))
    targets.elr = tuple(each for each in candidates if each in targets.replicas and each not in gone)


def _elect(record: PartitionChangeRecord, targets: _Targets, partition: Partition, rules: ElectionRules) -> None:
    leader, is_unclean = _choose_leader(targets, partition, rules)
    if leader != partition.leader:
        record.leader = leader
        if leader in targets.elr:
            targets.isr = (leader,)
            targets.elr = tuple(each for each in targets.elr if each != leader)
        if is_unclean:
            record.isr = [leader]
            if partition.leader_recovery_state != LeaderRecoveryState.RECOVERING:
                record.leader_recovery_state = LeaderRecoveryState.RECOVERING.value
    elif any(each not in targets.replicas for each in partition.replicas):
        # A replica is gone for good; a new epoch keeps its late fetches out.
        record.leader = partition.leader


def _choose_leader(targets: _Targets, partition: Partition, rules: ElectionRules) -> tuple[int, bool]:
    def accepts(replica: int) -> bool:
        return replica in targets.replicas and rules.is_acceptable_leader(partition, replica)

    candidates = targets.isr or targets.elr
    preferred = targets.replicas[:1] if rules.election is Election.PREFERRED else ()
    for replica in (*preferred, partition.leader, *targets.replicas):
        if replica in candidates and accepts(replica):
            return replica, False
    if rules.elr_enabled and not candidates and len(partition.last_known_elr) == 1:
        last_leader = partition.last_known_elr[0]
        if accepts(last_leader):
            return last_leader, True
    if rules.election is Election.UNCLEAN:
        for replica in targets.replicas:
            if accepts(replica):
                return replica, True
    return NO_LEADER, False


def _set_replicas_in_sync(
    record: PartitionChangeRecord, targets: _Targets, partition: Partition, rules: ElectionRules
) -> None:
    is_unclean = record.isr is not None
    elr = () if is_unclean or not rules.elr_enabled else targets.elr
    if elr != partition.elr:
        record.eligible_leader_replicas = list(elr)
    # Without ELR the last ISR stays in the metadata though none of its members lives: it says who may lead again.
    if not is_unclean and (targets.isr or rules.elr_enabled) and targets.isr != partition.isr:
        record.isr = list(targets.isr)
    if rules.epoch_bump_on_shrink and record.leader == NO_LEADER_CHANGE and record.isr is not None:
        isr = record.isr
        if any(each not in isr for each in partition.isr):
            record.leader = partition.leader


def _remember_last_leader(record: PartitionChangeRecord, partition: Partition) -> None:
    if record.leader == NO_LEADER and not partition.last_known_elr:
        record.last_known_elr = [partition.leader]
    elif record.leader >= 0 and partition.last_known_elr:
        record.last_known_elr = []


def _set_assignment(
    record: PartitionChangeRecord, targets: _Targets, partition: Partition, rules: ElectionRules
) -> None:
    if rules.directories_supported:
        known = targets.directories
        directories = tuple(
            known[each] if each in known else rules.default_directory(each) for each in targets.replicas
        )
        if directories != partition.directories:
            record.directories = list(directories)
    if targets.replicas != partition.replicas:
        record.replicas = list(targets.replicas)
    if targets.removing != partition.removing_replicas:
        record.removing_replicas = list(targets.removing)
    if targets.adding != partition.adding_replicas:
        record.adding_replicas = list(targets.adding)


def _is_empty(record: PartitionChangeRecord) -> bool:
    return record == PartitionChangeRecord(partition_id=record.partition_id, topic_id=record.topic_id)
