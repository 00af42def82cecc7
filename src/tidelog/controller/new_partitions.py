"""The first records of new partitions: replicas from the placement or as somebody asked, the living ones in sync, the
first of those leading.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tidelog.controller.placement import Placement
from tidelog.controller.results import SLICE, Record, Slices
from tidelog.controller.state import ControllerState
from tidelog.metadata.record_versions import record_version
from tidelog.metadata.records.topics import PartitionRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid

# The most in one request, as in Kafka: all of it is one atomic batch.
PARTITIONS_MAX = 10_000


_NOBODY: list[int] = []


class _Assignment(NamedTuple):
    replicas: list[int]
    isr: list[int]
    directories: list[Uuid]


class NewPartitions:
    """The maker of the partition records of one topic."""

    __slots__ = ("_assignments", "_state", "_topic_id", "_version")

    def __init__(self, state: ControllerState, topic_id: Uuid) -> None:
        self._state = state
        self._topic_id = topic_id
        self._version = record_version(PartitionRecord, state.metadata.metadata_version)
        # By replicas: there are far fewer such lists than partitions, so records share them. Records are never changed.
        self._assignments: dict[tuple[int, ...], _Assignment] = {}

    def place(self, first: int, count: int, replication_factor: int) -> Slices[list[Record]]:
        placement = Placement(self._state.usable_brokers(), self._state.entropy)
        placement.check(replication_factor)
        records: list[Record] = []
        for partition_id in range(first, first + count):
            records.append(self._record(partition_id, placement.place(replication_factor)))
            if len(records) % SLICE == 0:
                yield
        return records

    def assign(
        self, assignments: Iterable[tuple[int, Sequence[int]]], replication_factor: int | None = None
    ) -> Slices[list[Record]]:
        """Return the records of partitions with the replicas as asked; all partitions must have the same number of
        replicas."""
        records: list[Record] = []
        for partition_id, replicas in assignments:
            self._check(replicas, replication_factor)
            replication_factor = len(replicas)
            record = self._record(partition_id, list(replicas))
            records.append(record)
            if len(records) % SLICE == 0:
                yield
        return records

    def _record(self, partition_id: int, replicas: list[int]) -> Record:
        key = tuple(replicas)
        assignment = self._assignments.get(key)
        if assignment is None:
            assignment = self._assignments[key] = self._assignment(partition_id, replicas)
        record = PartitionRecord(
            partition_id=partition_id,
            topic_id=self._topic_id,
            replicas=assignment.replicas,
            isr=assignment.isr,
            removing_replicas=_NOBODY,
            adding_replicas=_NOBODY,
            leader=assignment.isr[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=assignment.directories,
        )
        return record, self._version

    def _assignment(self, partition_id: int, replicas: list[int]) -> _Assignment:
        state = self._state
        isr = [each for each in replicas if state.is_active(each)]
        if not isr:
            # A placement begins with an unfenced broker, so this is an assignment that the request itself has chosen.
            raise _bad_assignment(f"all brokers of partition {partition_id} are fenced or shutting down")
        directories = [state.default_directory(each) for each in replicas] if state.directories_supported else []
        return _Assignment(replicas, isr, directories)

    def _check(self, replicas: Sequence[int], replication_factor: int | None) -> None:
        if not replicas:
            raise _bad_assignment("a partition without replicas")
        brokers = self._state.metadata.brokers
        for position, broker_id in enumerate(replicas):
            broker = brokers.get(broker_id)
            if broker is None:
                raise _bad_assignment(f"broker {broker_id} is not registered")
            if not broker.has_uncordoned_log_dirs:
                raise _bad_assignment(f"all log directories of broker {broker_id} are cordoned")
            if broker_id in replicas[:position]:
                raise _bad_assignment(f"broker {broker_id} is there twice in one partition")
        if replication_factor is not None and len(replicas) != replication_factor:
            raise _bad_assignment(
                f"a partition has {len(replicas)} replica(s), though the others of its topic have {replication_factor}"
            )


def _bad_assignment(reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"replicas cannot be assigned so: {reason}")
