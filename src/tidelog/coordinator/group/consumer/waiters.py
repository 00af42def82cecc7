"""The heartbeats that wait for the target assignment of their crowd (see `crowd`), as the shard keeps them."""

from dataclasses import dataclass, field

from tidelog.coordinator.requests import CoordinatorRequest


@dataclass(slots=True)
class Waiter:
    """A heartbeat whose answer waits for the crowd's target assignment."""

    request: CoordinatorRequest
    member_id: str
    has_subscription_changed: bool


@dataclass(slots=True)
class Crowd:
    """The members of one group that wait for a target assignment."""

    arrived: list[Waiter] = field(default_factory=list)  # those since the last target assignment
    targeted: list[Waiter] = field(default_factory=list)  # those that have their target, still to be answered
    since_ms: int = 0  # when the first of them arrived
    target_epoch: int = 0  # of the assignment computed for them; 0: the one before still holds
