"""What the coordinators of groups and of transactions differ in. A module of its own, because mypyc does not compile
dataclasses that are generic, and `running_coordinator` is compiled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidelog.coordinator.record_framing import RecordTypesById
from tidelog.metadata.changes import Changes
from tidelog.records.compression import CompressionType
from tidelog.server.coordination.loading import LoadRun
from tidelog.server.hosting.partition import Partition
from tidelog.server.replicated import Machine, Result

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

M = TypeVar("M", bound=Machine)


@dataclass(slots=True)
class CoordinatorKind(Generic[M]):
    """One kind of coordinator. Its functions get the broker as it is at the call."""

    topic: str
    types: RecordTypesById
    partitions_wanted: Callable[["Broker"], int]  # how many the topic will have, before it exists
    compression: Callable[["Broker"], CompressionType]
    make: Callable[["Broker", Partition, int], M]  # for a partition, with records of at most so many bytes
    activate: Callable[[M, int], Result]  # once everything is loaded, at this time
    image_changed: Callable[[M, int, "Broker", Changes], None]
    reconfigured: Callable[[M, "Broker", int], None]  # settings, or the size of a record, have changed
    reads: tuple[type[Any], ...] = ()  # requests that never write
    load_run: LoadRun | None = None
    follow_line: Callable[[M, Callable[[], bool]], None] | None = None  # whether requests wait for their turn
