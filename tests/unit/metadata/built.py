"""Records with every field at its plainest, so that a test names only the fields that it is about."""

from typing import Any

from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.records.brokers import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from tidelog.metadata.records.cluster import ClientQuotaRecord, ConfigRecord, EntityData, FeatureLevelRecord
from tidelog.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from tidelog.metadata.records.topics import PartitionRecord, TopicRecord
from tidelog.model.ids import Uuid

LATEST = 30


def uuid(number: int) -> Uuid:
    return Uuid(b"uuid" + number.to_bytes(12, "big"))


def metadata_version(level: int = LATEST) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="metadata.version", feature_level=level)


def topic(number: int = 1, name: str | None = None) -> TopicRecord:
    return TopicRecord(name=name or f"topic-{number}", topic_id=uuid(number))


def partition(number: int = 1, partition_id: int = 0, **fields: Any) -> PartitionRecord:
    plain: dict[str, Any] = {
        "replicas": [1, 2, 3],
        "isr": [1, 2, 3],
        "removing_replicas": [],
        "adding_replicas": [],
        "leader": 1,
        "leader_epoch": 5,
        "partition_epoch": 7,
        "directories": [uuid(101), uuid(102), uuid(103)],
    }
    return PartitionRecord(partition_id=partition_id, topic_id=uuid(number), **{**plain, **fields})


def broker(number: int = 1, **fields: Any) -> RegisterBrokerRecord:
    plain: dict[str, Any] = {
        "incarnation_id": uuid(900 + number),
        "broker_epoch": 10,
        "end_points": [BrokerEndpoint(name="PLAINTEXT", host="here", port=9092, security_protocol=0)],
        "features": [BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
        "rack": None,
    }
    return RegisterBrokerRecord(broker_id=number, **{**plain, **fields})


def controller(number: int = 1) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=number,
        incarnation_id=uuid(800 + number),
        zk_migration_ready=False,
        end_points=[ControllerEndpoint(name="CONTROLLER", host="there", port=9093, security_protocol=0)],
        features=[ControllerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
    )


def config(resource_type: int, resource: str, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource_type, resource_name=resource, name=name, value=value)


def quota(entity: dict[str, str | None], key: str, value: float, *, remove: bool = False) -> ClientQuotaRecord:
    parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    return ClientQuotaRecord(entity=parts, key=key, value=value, remove=remove)


def acl(number: int = 1, principal: str = "User:alice") -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=uuid(700 + number),
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal=principal,
        host="*",
        operation=3,
        permission_type=3,
    )


def scram(name: str = "alice", mechanism: int = 1, iterations: int = 4096) -> UserScramCredentialRecord:
    return UserScramCredentialRecord(
        name=name, mechanism=mechanism, salt=b"salt", stored_key=b"stored", server_key=b"server", iterations=iterations
    )


def token(token_id: str = "token-1", expiration: int = 300) -> DelegationTokenRecord:
    return DelegationTokenRecord(
        owner="User:alice",
        requester="User:bob",
        renewers=["User:carol", "User:dave"],
        issue_timestamp=100,
        max_timestamp=900,
        expiration_timestamp=expiration,
        token_id=token_id,
    )


def replayed(*records: Any) -> MetadataDraft:
    """Return a draft at the latest metadata.version that has replayed these records and tracks their changes."""
    draft = MetadataDraft(tracks_changes=True)
    draft.replay(metadata_version())
    draft.take_changes()
    for record in records:
        draft.replay(record)
    return draft


def frozen(draft: MetadataDraft) -> MetadataImage:
    return draft.freeze(42, 3, 1_700_000_000_000)
