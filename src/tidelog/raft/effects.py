"""What happens to the quorum's machine, and what it wants done.

Effects run in the order in which they come, and nothing behind a Persist leaves the node before that is durable. So a
vote is on disk before it counts, and a leader has its epoch on disk before it writes a record in it.
"""

from typing import Any, TypeAlias

from tidelog.model.ids import NodeId
from tidelog.model.lazy_dataclass import dataclass
from tidelog.raft.quorum_state import ElectionState

# Events


@dataclass(slots=True, frozen=True)
class Started:
    """The first event: the log is loaded and what `quorum-state` says is known."""

    election: ElectionState
    log_end_offset: int
    last_epoch: int  # of the log's last record, or of its snapshot; 0 for an empty one


@dataclass(slots=True, frozen=True)
class Ticked:
    """The event that the deadline has come."""


@dataclass(slots=True, frozen=True)
class Appended:
    """The event that records were written to the end of the log, ours or a leader's. They are not durable yet."""

    log_end_offset: int


@dataclass(slots=True, frozen=True)
class Synced:
    """The event that everything below this offset is on our own disk for good."""

    offset: int


@dataclass(slots=True, frozen=True)
class ResignRequested:
    """The request to leave the leadership: the node stops, or its machine could not go on. `is_final`: never stand
    again."""

    is_final: bool


Event: TypeAlias = Started | Ticked | Appended | Synced | ResignRequested

# Effects


@dataclass(slots=True, frozen=True)
class Persist:
    """The order to replace `quorum-state`, durably, before the effects behind this one."""

    election: ElectionState


@dataclass(slots=True, frozen=True)
class AppendControl:
    """The order to append one batch of control records at the end of the log, in this epoch."""

    epoch: int
    messages: tuple[Any, ...]


@dataclass(slots=True, frozen=True)
class LeaderChanged:
    """The news of another leader; `leader_id` is None while nobody is known to lead."""

    epoch: int
    leader_id: NodeId | None


@dataclass(slots=True, frozen=True)
class HighWatermarkAdvanced:
    """The news that everything below `offset` is committed."""

    offset: int


Effect: TypeAlias = Persist | AppendControl | LeaderChanged | HighWatermarkAdvanced
