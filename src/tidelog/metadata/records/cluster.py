"""Records about the cluster as a whole: settings, quotas, features and producer ids."""

from tidelog.protocol.schema import boolean, field, float64, int8, int16, int32, int64, record, string, struct


@record("metadata", api_key=4, versions="0", flexible="0+")
class ConfigRecord:
    """A dynamic setting of a resource; a null value removes it."""

    resource_type: int8
    resource_name: string
    name: string
    value: string | None = field(nullable="0+")


@struct
class EntityData:
    entity_type: string
    entity_name: string | None = field(nullable="0+")


@record("metadata", api_key=14, versions="0", flexible="0+")
class ClientQuotaRecord:
    """A quota of some combination of user, client id and address."""

    entity: list[EntityData]
    key: string
    value: float64
    remove: boolean


@record("metadata", api_key=12, versions="0", flexible="0+")
class FeatureLevelRecord:
    """A finalized feature level; 0 removes the feature."""

    name: string
    feature_level: int16


@record("metadata", api_key=15, versions="0", flexible="0+")
class ProducerIdsRecord:
    """A block of producer ids was handed out; the next one starts here."""

    broker_id: int32
    broker_epoch: int64 = -1
    next_producer_id: int64


@record("metadata", api_key=21, versions="0", flexible="0+")
class ZkMigrationStateRecord:
    """How far the migration from ZooKeeper was. Nothing writes it any more, old logs hold it."""

    zk_migration_state: int8
