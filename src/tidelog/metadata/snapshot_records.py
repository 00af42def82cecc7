"""An image as the records that make it again: what a snapshot of the metadata log holds.

In Kafka's order, metadata.version first: it says how to read the rest. Within a part the order is the image's own.
What the versions of the current metadata.version can not hold is an error and never left out.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tidelog.metadata.directories import MIGRATING_DIRECTORY
from tidelog.metadata.errors import UnwritableMetadata
from tidelog.metadata.feature_levels import METADATA_VERSION
from tidelog.metadata.image import NO_PRODUCER_IDS, MetadataImage
from tidelog.metadata.nodes import Broker, ControllerRegistration
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.metadata.record_versions import CORDONED_LOG_DIRS_FROM, DIRECTORIES_FROM, ELR_FROM, record_version
from tidelog.metadata.records.brokers import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
)
from tidelog.metadata.records.cluster import (
    ClientQuotaRecord,
    ConfigRecord,
    EntityData,
    FeatureLevelRecord,
    ProducerIdsRecord,
)
from tidelog.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from tidelog.metadata.records.topics import PartitionRecord, TopicRecord
from tidelog.metadata.topics import Partition, Topic
from tidelog.model.ids import Uuid


def image_records(image: MetadataImage) -> Iterator[MetadataRecord]:
    """Yield (message, version) one by one, so that the caller can pause in between; nothing for an image without
    records. Raises UnwritableMetadata for what the records have no field for, and UnknownFeatureLevel when no
    metadata.version was ever set."""
    level = image.metadata_version
    versions: dict[type[Any], int] = {}
    for message in _messages(image):
        cls = type(message)
        if cls not in versions:
            versions[cls] = record_version(cls, level)
        yield MetadataRecord(message, versions[cls])


def _messages(image: MetadataImage) -> Iterator[Any]:
    level = image.metadata_version
    yield from _feature_levels(image)
    yield from (_broker(broker, level) for broker in image.brokers.values())
    yield from map(_controller, image.controllers.values())
    for topic in image.topics.by_id.values():
        yield from _topic(topic, level)
    yield from _configs(image)
    yield from _client_quotas(image)
    if image.next_producer_id != NO_PRODUCER_IDS:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
    yield from _acls(image)
    yield from _scram_credentials(image)
    yield from _delegation_tokens(image)


def _feature_levels(image: MetadataImage) -> Iterator[FeatureLevelRecord]:
    others = [name for name in image.features if name != METADATA_VERSION]
    for name in [METADATA_VERSION, *others] if image.metadata_version else others:
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])


def _broker(broker: Broker, level: int) -> RegisterBrokerRecord:
    if broker.log_dirs and level < DIRECTORIES_FROM:
        raise UnwritableMetadata(level, f"the log directories of broker {broker.id}")
    if broker.cordoned_log_dirs is not None and level < CORDONED_LOG_DIRS_FROM:
        raise UnwritableMetadata(level, f"the cordoned log directories of broker {broker.id}")
    cordoned = broker.cordoned_log_dirs
    return RegisterBrokerRecord(
        broker_id=broker.id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in broker.endpoints.values()
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=range_.min, max_supported_version=range_.max)
            for name, range_ in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=None if cordoned is None else list(cordoned),
    )


def _controller(controller: ControllerRegistration) -> RegisterControllerRecord:
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=controller.zk_migration_ready,
        end_points=[
            ControllerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in controller.endpoints.values()
        ],
        features=[
            ControllerFeature(name=name, min_supported_version=range_.min, max_supported_version=range_.max)
            for name, range_ in controller.features.items()
        ],
    )


def _topic(topic: Topic, level: int) -> Iterator[TopicRecord | PartitionRecord]:
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    for partition_id in topic.partition_ids():
        yield partition_record(topic.id, partition_id, topic.partitions[partition_id], level)


def partition_record(topic_id: Uuid, partition_id: int, partition: Partition, level: int) -> PartitionRecord:
    """Return the whole of a partition, as far as the records of that metadata.version can hold it."""
    if level < DIRECTORIES_FROM and not _all_migrating(partition.directories):
        raise UnwritableMetadata(level, f"the log directories of partition {partition_id}")
    if level < ELR_FROM and (partition.elr or partition.last_known_elr):
        raise UnwritableMetadata(level, f"the eligible leader replicas of partition {partition_id}")
    return PartitionRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state.value,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories) if level >= DIRECTORIES_FROM else [],
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def _all_migrating(directories: Iterable[Uuid]) -> bool:
    return all(each == MIGRATING_DIRECTORY for each in directories)


def _configs(image: MetadataImage) -> Iterator[ConfigRecord]:
    for resource, settings in image.configs.items():
        for name, value in settings.items():
            yield ConfigRecord(resource_type=resource.type.value, resource_name=resource.name, name=name, value=value)


def _client_quotas(image: MetadataImage) -> Iterator[ClientQuotaRecord]:
    for entity, quotas in image.client_quotas.items():
        for key, value in quotas.items():
            parts = [EntityData(entity_type=part.type, entity_name=part.name) for part in entity]
            yield ClientQuotaRecord(entity=parts, key=key, value=value, remove=False)


def _acls(image: MetadataImage) -> Iterator[AccessControlEntryRecord]:
    for acl in image.acls.values():
        yield AccessControlEntryRecord(
            id=acl.id,
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )


def _scram_credentials(image: MetadataImage) -> Iterator[UserScramCredentialRecord]:
    for user, credential in image.scram_credentials.items():
        yield UserScramCredentialRecord(
            name=user.name,
            mechanism=user.mechanism.value,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )


def _delegation_tokens(image: MetadataImage) -> Iterator[DelegationTokenRecord]:
    for token in image.delegation_tokens.values():
        yield DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=list(token.renewers),
            issue_timestamp=token.issue_timestamp_ms,
            max_timestamp=token.max_timestamp_ms,
            expiration_timestamp=token.expiration_timestamp_ms,
            token_id=token.token_id,
        )
