"""Replay of records about the cluster as a whole: settings, features, producer ids and quotas."""

from tidelog.metadata.client_quotas import QuotaEntity, QuotaEntityPart
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.draft_state import DraftState
from tidelog.metadata.errors import InconsistentRecord
from tidelog.metadata.feature_levels import KRAFT_VERSION, METADATA_VERSION, check_metadata_version
from tidelog.metadata.records.cluster import ClientQuotaRecord, ConfigRecord, FeatureLevelRecord, ProducerIdsRecord


def set_config(state: DraftState, record: ConfigRecord) -> None:
    """Set or remove a setting. Names that this release does not know are kept: they may be another release's, to which
    the log goes back."""
    resource = ConfigResource(_resource_type(record), record.resource_name)
    settings = dict(state.configs.get(resource, {}))
    if record.value is None:
        settings.pop(record.name, None)
    else:
        settings[record.name] = record.value
    state.configs = state.configs.owned_by(state.owner)
    if settings:
        state.configs.put(resource, settings)
    else:
        state.configs.remove(resource)
    if state.changes is not None:
        state.changes.configs[resource] = None


def set_feature_level(state: DraftState, record: FeatureLevelRecord) -> None:
    """Set the level of a feature. kraft.version is skipped: some releases of Kafka wrote it here by mistake, the
    quorum's own records settle it."""
    if record.name == KRAFT_VERSION:
        return
    if record.name == METADATA_VERSION:
        check_metadata_version(record.feature_level)
    state.features = state.features.owned_by(state.owner)
    if record.feature_level:
        state.features.put(record.name, record.feature_level)
    else:
        state.features.remove(record.name)
    if state.changes is not None:
        state.changes.features[record.name] = None


def set_next_producer_id(state: DraftState, record: ProducerIdsRecord) -> None:
    if record.next_producer_id < state.next_producer_id:
        raise InconsistentRecord(record, f"producer ids go back from {state.next_producer_id}")
    state.next_producer_id = record.next_producer_id
    if state.changes is not None:
        state.changes.producer_ids = True


def set_client_quota(state: DraftState, record: ClientQuotaRecord) -> None:
    entity = _entity(record)
    quotas = dict(state.client_quotas.get(entity, {}))
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    state.client_quotas = state.client_quotas.owned_by(state.owner)
    if quotas:
        state.client_quotas.put(entity, quotas)
    else:
        state.client_quotas.remove(entity)
    if state.changes is not None:
        state.changes.client_quotas[entity] = None


def _resource_type(record: ConfigRecord) -> ResourceType:
    try:
        return ResourceType(record.resource_type)
    except ValueError:
        raise InconsistentRecord(record, f"{record.resource_type} is no kind of resource") from None


def _entity(record: ClientQuotaRecord) -> QuotaEntity:
    parts = {each.entity_type: each.entity_name for each in record.entity}
    return tuple(QuotaEntityPart(entity_type, parts[entity_type]) for entity_type in sorted(parts))
