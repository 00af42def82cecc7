"""What a controller appends first when it becomes active, before it serves any request."""

from collections.abc import Sequence
from typing import Any

from tidelog.metadata.bootstrap import bootstrap_metadata_version
from tidelog.metadata.configs import ResourceType
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.feature_levels import ELIGIBLE_LEADER_REPLICAS_VERSION
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.metadata.record_versions import TRANSACTIONS_FROM, record_version
from tidelog.metadata.records.cluster import ConfigRecord, FeatureLevelRecord
from tidelog.metadata.records.transactions import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord


def activation_records(
    draft: MetadataDraft, bootstrap: Sequence[MetadataRecord], min_insync_replicas: int
) -> list[MetadataRecord]:
    """A metadata transaction that a dead controller left open is aborted; a cluster without metadata.version, a new
    one, gets its bootstrap records.

    `draft` has replayed the whole log, `bootstrap` are the records of bootstrap.checkpoint, and `min_insync_replicas`
    is the node's own setting.
    """
    level = draft.metadata_version or bootstrap_metadata_version(bootstrap)
    records: list[MetadataRecord] = []
    if draft.in_transaction:
        records.append(_record(AbortTransactionRecord(reason="Controller failover"), level))
    if not draft.metadata_version:
        records += _first_records(bootstrap, level, min_insync_replicas)
    return records


def _first_records(bootstrap: Sequence[MetadataRecord], level: int, min_insync_replicas: int) -> list[MetadataRecord]:
    """One metadata transaction where there are any, so that a controller that dies within leaves nothing half done."""
    records = [*bootstrap]
    if _has_elr(bootstrap):
        records.append(_record(_min_insync_replicas(min_insync_replicas), level))
    if level < TRANSACTIONS_FROM:
        return records
    begin = _record(BeginTransactionRecord(name="Bootstrap records"), level)
    return [begin, *records, _record(EndTransactionRecord(), level)]


def _has_elr(bootstrap: Sequence[MetadataRecord]) -> bool:
    return any(
        isinstance(message, FeatureLevelRecord)
        and message.name == ELIGIBLE_LEADER_REPLICAS_VERSION
        and message.feature_level > 0
        for message, _ in bootstrap
    )


def _min_insync_replicas(count: int) -> ConfigRecord:
    """With ELR all brokers must agree on it, as it decides who is eligible: it can not stay in their own files."""
    return ConfigRecord(
        resource_type=ResourceType.BROKER.value, resource_name="", name="min.insync.replicas", value=str(count)
    )


def _record(message: Any, level: int) -> MetadataRecord:
    return MetadataRecord(message, record_version(type(message), level))
