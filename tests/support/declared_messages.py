"""Every message that Tidelog declares, by name, for the wire tests."""

from functools import cache
from typing import Any

from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.share.records import SHARE_RECORDS
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS
from tidelog.metadata.records import METADATA_RECORDS
from tidelog.protocol.control_records import CONTROL_RECORDS
from tidelog.protocol.headers import RequestHeader, ResponseHeader
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from tidelog.protocol.messages.default_principal import DefaultPrincipalData
from tidelog.protocol.messages.quorum_state import QuorumStateData
from tidelog.protocol.messages.registry import REQUESTS, RESPONSES
from tidelog.protocol.schema import schema_of

HEADERS: list[type[Any]] = [RequestHeader, ResponseHeader]
DATA: list[type[Any]] = [
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    DefaultPrincipalData,
    QuorumStateData,
]


@cache
def declared_messages() -> dict[str, type[Any]]:
    coordinator_records = [*GROUP_RECORDS.values(), *SHARE_RECORDS.values(), *TRANSACTION_RECORDS.values()]
    found: list[type[Any]] = [
        *REQUESTS.values(),
        *RESPONSES.values(),
        *HEADERS,
        *METADATA_RECORDS.values(),
        *CONTROL_RECORDS.values(),
        *(cls for pair in coordinator_records for cls in pair),
        *DATA,
    ]
    return {cls.__name__: cls for cls in found}


def versions_of(cls: type[Any]) -> range:
    versions = schema_of(cls).versions
    return range(versions.lowest, versions.highest + 1)
