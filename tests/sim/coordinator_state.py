"""The state of every coordinator of a node against its log: a fresh replay has to give the same state."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tidelog.coordinator.transaction.coordinator import TransactionCoordinator
from tidelog.records.batch import batches
from tidelog.server.coordination.coordinator_log import record_bytes_max
from tidelog.server.coordination.loading import Loading
from tidelog.server.coordination.running_coordinator import CoordinatorShard
from tidelog.sim.node_world import NodeWorld
from tidelog.storage.log.reading import LogRead


class Rereading(Loading):
    """A load of the whole log in one go: outside of a turn, waiting for the disk harms nobody."""

    def _begin_warm(self, _found: LogRead) -> bool:
        return False


def durable(machine: Any) -> dict[str, Any]:
    """Return the part of the printed state that a replay must bring back."""
    if isinstance(machine, TransactionCoordinator):
        return machine.durable()
    printed = machine.printed()
    groups = {name: _durable_group(group) for name, group in printed["groups"].items()}
    return {"groups": {name: each for name, each in groups.items() if each}, "offsets": printed["offsets"]}


def _durable_group(printed: dict[str, Any]) -> Any:
    return printed["committed"] if printed["type"] == "classic" else printed


def shards_of(world: NodeWorld) -> list[CoordinatorShard[Any]]:
    coordinators = world.running.broker.coordinators
    families: list[Any] = [coordinators.groups, coordinators.transactions]
    return [family._shards[index] for family in families for index in family.partitions()]


def validate_state(world: NodeWorld) -> int:
    """Compare each active coordinator, if all its records are committed, with a fresh replay; return how many were
    compared."""
    with _sound_disks(world):
        return _validate_state(world)


@contextmanager
def _sound_disks(world: NodeWorld) -> Iterator[None]:
    """Suspend the disks' faults, since the comparison reads, and must not use up a fault that was meant for the
    node."""
    all_faults = [disk.faults for disk in world.fs._mounts.disks.values()]
    kept = [faults.rules for faults in all_faults]
    for faults in all_faults:
        faults.rules = []
    yield
    for faults, rules in zip(all_faults, kept, strict=True):
        faults.rules = rules


def _validate_state(world: NodeWorld) -> int:
    broker, compared = world.running.broker, 0
    for shard in shards_of(world):
        log = shard.partition.log
        is_written = shard.log.end_offset == log.log_end_offset
        # Records that the last turn had no time to write are staged: their shard must be in line for the next turn.
        assert is_written or shard.machine is None or _is_in_line(world, shard), f"{log} forgets what is staged"
        is_reconciled = is_written and log.high_watermark == log.log_end_offset and not log.is_unsettled
        if shard.machine is None or shard.replicated.has_work or not is_reconciled:
            continue
        loading = Rereading(broker, shard.partition, shard._kind.types, lambda _type: None)
        twin = shard._kind.make(broker, shard.partition, record_bytes_max(shard.partition))
        shard.replicated.validate_state(twin, loading.slices(), durable)
        compared += 1
    return compared


def _is_in_line(world: NodeWorld, shard: CoordinatorShard[Any]) -> bool:
    coordinators = world.running.broker.coordinators
    families: list[Any] = [coordinators.groups, coordinators.transactions]
    return any(shard in family._ready.values() for family in families)


def are_loaded(world: NodeWorld) -> bool:
    """Tell whether every partition of both topics has an active coordinator."""
    coordinators = world.running.broker.coordinators
    families: list[Any] = [coordinators.groups, coordinators.transactions]
    return all(len(family.machines()) == family.partition_count for family in families)


def check_epochs(world: NodeWorld) -> int:
    """Check that leader epochs never go back in a log and are never ahead of the metadata's: recovery would take that
    for the remains of a truncation, and cut off acknowledged records. Return how many batches were checked."""
    seen = 0
    for topic_partition, partition in world.running.broker.hosted.by_topic_partition.items():
        segments = list(partition.log.segments)
        data = b"".join(bytes(segment.read(0, segment.size_bytes)) for segment in segments)
        epochs = [batch.header.partition_leader_epoch for batch in batches(data)]
        assert epochs == sorted(epochs), f"{topic_partition}: {epochs}"
        assert not epochs or epochs[-1] <= partition.leader_epoch, (
            f"{topic_partition}: {epochs[-1]} > {partition.leader_epoch}"
        )
        seen += len(epochs)
    return seen
