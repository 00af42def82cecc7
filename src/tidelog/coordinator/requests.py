"""What a coordinator's machine is asked, and what it writes.

A request is an object of its own, compared by identity: a member that waits for the others keeps it, and it is given
back with the answer (`Result.answers`).

Three kinds of records reach a coordinator's log and come back from it, in this order and form, to `replay`.
"""

from typing import Any, NamedTuple, TypeAlias

from tidelog.model.lazy_dataclass import dataclass


@dataclass(slots=True, eq=False)
class CoordinatorRequest:
    """A client's request, with what only the server knows of it."""

    message: Any  # version-free; its class says which API
    api_version: int
    wall_ms: int  # of its arrival: what records and timestamps say; timers go by the monotonic clock
    client_id: str = ""
    client_host: str = ""  # as tools show it: "/127.0.0.1"
    is_in_line: bool = False  # others came just before it: what all need may be done once


class KeyValue(NamedTuple):
    """One record. `value` None is a tombstone: what the key names is gone."""

    key: Any
    value: Any


class TransactionalKeyValue(NamedTuple):
    """A record inside of a producer's transaction: it counts when, and if, that is committed."""

    producer_id: int
    producer_epoch: int
    key: Any
    value: Any


class TransactionMarker(NamedTuple):
    """The end of a producer's transaction in this log, written as a control batch."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int


LogMessage: TypeAlias = KeyValue | TransactionalKeyValue | TransactionMarker
