"""Who may do what, and how they prove who they are. Kept whole even where this release does not act on it yet: a
directory that another release wrote must be given back complete.
"""

from enum import IntEnum
from typing import NamedTuple

from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclass import dataclass


class ScramMechanism(IntEnum):
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class ScramUser(NamedTuple):
    mechanism: ScramMechanism
    name: str


@dataclass(slots=True)
class ScramCredential:
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        """Show no key: keys do not belong in a log line."""
        return f"ScramCredential(iterations={self.iterations})"


@dataclass(slots=True)
class Acl:
    """One access control entry. Types, pattern, operation and permission are Kafka's numbers."""

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(slots=True)
class DelegationToken:
    """One delegation token. Principals are written `User:alice`. The secret is derived from the token id, not
    stored."""

    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    expiration_timestamp_ms: int
