"""Which version of each record a metadata.version allows: what every node of the cluster can read."""

from typing import Any

from tidelog.metadata.errors import UnwritableMetadata
from tidelog.metadata.feature_levels import MINIMUM_METADATA_VERSION, check_metadata_version
from tidelog.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from tidelog.metadata.records.security import (
    DelegationTokenRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from tidelog.metadata.records.topics import ClearElrRecord, PartitionChangeRecord, PartitionRecord
from tidelog.metadata.records.transactions import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord

SCRAM_FROM = 11
LEADER_EPOCH_STAYS_ON_ISR_SHRINK_FROM = 12
TRANSACTIONS_FROM = 13
DELEGATION_TOKENS_FROM = 14
CONTROLLER_REGISTRATION_FROM = 15
DIRECTORIES_FROM = 17
ELR_FROM = 23
CORDONED_LOG_DIRS_FROM = 30

# (first metadata.version, record version), the newest first; a record that is not here has version 0 from the start.
_VERSIONS: dict[type[Any], tuple[tuple[int, int], ...]] = {
    RegisterBrokerRecord: ((CORDONED_LOG_DIRS_FROM, 4), (DIRECTORIES_FROM, 3), (8, 2), (7, 1)),
    BrokerRegistrationChangeRecord: ((CORDONED_LOG_DIRS_FROM, 3), (DIRECTORIES_FROM, 2), (7, 1)),
    RegisterControllerRecord: ((CONTROLLER_REGISTRATION_FROM, 0),),
    PartitionRecord: ((ELR_FROM, 2), (DIRECTORIES_FROM, 1), (7, 0)),
    PartitionChangeRecord: ((ELR_FROM, 2), (DIRECTORIES_FROM, 1), (7, 0)),
    ClearElrRecord: ((ELR_FROM, 0),),
    UserScramCredentialRecord: ((SCRAM_FROM, 0),),
    RemoveUserScramCredentialRecord: ((SCRAM_FROM, 0),),
    DelegationTokenRecord: ((DELEGATION_TOKENS_FROM, 0),),
    RemoveDelegationTokenRecord: ((DELEGATION_TOKENS_FROM, 0),),
    BeginTransactionRecord: ((TRANSACTIONS_FROM, 0),),
    EndTransactionRecord: ((TRANSACTIONS_FROM, 0),),
    AbortTransactionRecord: ((TRANSACTIONS_FROM, 0),),
}
_FROM_THE_START = ((MINIMUM_METADATA_VERSION, 0),)


def record_version(cls: type[Any], metadata_version: int) -> int:
    """Return the version in which to write a record of that class. Raises UnwritableMetadata where there is none
    yet."""
    check_metadata_version(metadata_version)
    for first, version in _VERSIONS.get(cls, _FROM_THE_START):
        if metadata_version >= first:
            return version
    raise UnwritableMetadata(metadata_version, f"a {cls.__name__}")
