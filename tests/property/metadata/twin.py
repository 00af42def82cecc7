"""The metadata as plain nested dicts: the dumb twin of the draft, and the contents of an image in the same form.

It is written from the meaning of the records, copies everything on every record, and shares nothing.
"""

import copy
from typing import Any

from tidelog.metadata.image import MetadataView
from tidelog.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from tidelog.metadata.records.cluster import ClientQuotaRecord, ConfigRecord, FeatureLevelRecord, ProducerIdsRecord
from tidelog.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from tidelog.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

Plain = dict[str, Any]


def empty() -> Plain:
    kinds = ("topics", "brokers", "controllers", "configs", "features", "quotas", "acls", "scram", "tokens")
    return {**{kind: {} for kind in kinds}, "next_producer_id": -1}


def after(before: Plain, record: Any) -> Plain:
    plain = copy.deepcopy(before)
    _apply(plain, record)
    return plain


def _apply(plain: Plain, record: Any) -> None:
    match record:
        case TopicRecord():
            plain["topics"][record.topic_id] = {"name": record.name, "partitions": {}}
        case RemoveTopicRecord():
            plain["configs"].pop((2, plain["topics"].pop(record.topic_id)["name"]), None)
        case PartitionRecord():
            plain["topics"][record.topic_id]["partitions"][record.partition_id] = {
                "replicas": record.replicas,
                "directories": record.directories,
                "isr": record.isr,
                "adding": record.adding_replicas,
                "removing": record.removing_replicas,
                "elr": record.eligible_leader_replicas or [],
                "last_known_elr": record.last_known_elr or [],
                "leader": record.leader,
                "recovery": record.leader_recovery_state,
                "leader_epoch": record.leader_epoch,
                "partition_epoch": record.partition_epoch,
            }
        case PartitionChangeRecord():
            _change_partition(plain["topics"][record.topic_id]["partitions"][record.partition_id], record)
        case ClearElrRecord():
            for topic in plain["topics"].values():
                for partition in topic["partitions"].values() if record.topic_name in ("", topic["name"]) else ():
                    if partition["elr"] or partition["last_known_elr"]:
                        partition.update(elr=[], last_known_elr=[], partition_epoch=partition["partition_epoch"] + 1)
        case ConfigRecord():
            _set(plain["configs"], (record.resource_type, record.resource_name), record.name, record.value)
        case ClientQuotaRecord():
            entity = frozenset((part.entity_type, part.entity_name) for part in record.entity)
            _set(plain["quotas"], entity, record.key, None if record.remove else record.value)
        case FeatureLevelRecord():
            plain["features"].pop(record.name, None)
            if record.feature_level:
                plain["features"][record.name] = record.feature_level
        case ProducerIdsRecord():
            plain["next_producer_id"] = record.next_producer_id
        case _:
            _apply_to_nodes(plain, record)


def _apply_to_nodes(plain: Plain, record: Any) -> None:
    match record:
        case RegisterBrokerRecord():
            plain["brokers"][record.broker_id] = {
                **_registration(record),
                "epoch": record.broker_epoch,
                "rack": record.rack,
                "fenced": record.fenced,
                "shutdown": record.in_controlled_shutdown,
                "log_dirs": set(record.log_dirs),
                "cordoned": record.cordoned_log_dirs,
            }
        case UnregisterBrokerRecord():
            del plain["brokers"][record.broker_id]
        case FenceBrokerRecord() | UnfenceBrokerRecord():
            plain["brokers"][record.id]["fenced"] = isinstance(record, FenceBrokerRecord)
        case BrokerRegistrationChangeRecord():
            _change_broker(plain["brokers"][record.broker_id], record)
        case RegisterControllerRecord():
            plain["controllers"][record.controller_id] = _registration(record)
        case _:
            _apply_to_security(plain, record)


def _apply_to_security(plain: Plain, record: Any) -> None:
    match record:
        case AccessControlEntryRecord():
            plain["acls"][record.id] = (record.resource_name, record.principal, record.operation)
        case RemoveAccessControlEntryRecord():
            del plain["acls"][record.id]
        case UserScramCredentialRecord():
            plain["scram"][record.mechanism, record.name] = (record.salt, record.stored_key, record.iterations)
        case RemoveUserScramCredentialRecord():
            plain["scram"].pop((record.mechanism, record.name), None)
        case DelegationTokenRecord():
            plain["tokens"][record.token_id] = (record.owner, record.renewers, record.expiration_timestamp)
        case RemoveDelegationTokenRecord():
            plain["tokens"].pop(record.token_id, None)
        case _:
            raise AssertionError(record)


def _set(resources: dict[Any, dict[str, Any]], resource: Any, name: str, value: Any) -> None:
    settings = {**resources.pop(resource, {}), name: value}
    left = {name: value for name, value in settings.items() if value is not None}
    if left:
        resources[resource] = left


def _registration(record: Any) -> Plain:
    return {
        "incarnation": record.incarnation_id,
        "endpoints": {(each.name, each.host, each.port, each.security_protocol) for each in record.end_points},
        "features": {(each.name, each.min_supported_version, each.max_supported_version) for each in record.features},
    }


def _change_partition(partition: Plain, record: PartitionChangeRecord) -> None:
    named = {
        "replicas": record.replicas,
        "directories": record.directories,
        "isr": record.isr,
        "adding": record.adding_replicas,
        "removing": record.removing_replicas,
        "elr": record.eligible_leader_replicas,
        "last_known_elr": record.last_known_elr,
    }
    partition.update({name: value for name, value in named.items() if value is not None})
    partition["partition_epoch"] += 1
    if record.leader != -2:
        partition["leader"] = record.leader
        partition["leader_epoch"] += 1
    if record.leader_recovery_state != -1:
        partition["recovery"] = record.leader_recovery_state


def _change_broker(broker: Plain, record: BrokerRegistrationChangeRecord) -> None:
    if record.fenced:
        broker["fenced"] = record.fenced > 0
    if record.in_controlled_shutdown:
        broker["shutdown"] = True
    if record.log_dirs:
        broker["log_dirs"] = set(record.log_dirs)
    if record.cordoned_log_dirs is not None:
        broker["cordoned"] = record.cordoned_log_dirs


def plain_of(view: MetadataView) -> Plain:
    """Return the contents of an image or a draft in the twin's form."""
    return {
        "topics": {topic_id: _plain_topic(topic) for topic_id, topic in view.topics.by_id.items()},
        "brokers": {broker_id: _plain_broker(broker) for broker_id, broker in view.brokers.items()},
        "controllers": {each: _plain_registration(controller) for each, controller in view.controllers.items()},
        "configs": {(each.type.value, each.name): dict(settings) for each, settings in view.configs.items()},
        "features": dict(view.features.items()),
        "quotas": {frozenset(entity): dict(quotas) for entity, quotas in view.client_quotas.items()},
        "acls": {each: (acl.resource_name, acl.principal, acl.operation) for each, acl in view.acls.items()},
        "scram": {
            (user.mechanism.value, user.name): (each.salt, each.stored_key, each.iterations)
            for user, each in view.scram_credentials.items()
        },
        "tokens": {
            token_id: (each.owner, list(each.renewers), each.expiration_timestamp_ms)
            for token_id, each in view.delegation_tokens.items()
        },
        "next_producer_id": view.next_producer_id,
    }


def _plain_topic(topic: Any) -> Plain:
    partitions = {
        partition_id: {
            "replicas": list(each.replicas),
            "directories": list(each.directories),
            "isr": list(each.isr),
            "adding": list(each.adding_replicas),
            "removing": list(each.removing_replicas),
            "elr": list(each.elr),
            "last_known_elr": list(each.last_known_elr),
            "leader": each.leader,
            "recovery": each.leader_recovery_state.value,
            "leader_epoch": each.leader_epoch,
            "partition_epoch": each.partition_epoch,
        }
        for partition_id, each in topic.partitions.items()
    }
    return {"name": topic.name, "partitions": partitions}


def _plain_registration(node: Any) -> Plain:
    return {
        "incarnation": node.incarnation_id,
        "endpoints": set(node.endpoints.values()),
        "features": {(name, *levels) for name, levels in node.features.items()},
    }


def _plain_broker(broker: Any) -> Plain:
    return {
        **_plain_registration(broker),
        "epoch": broker.epoch,
        "rack": broker.rack,
        "fenced": broker.fenced,
        "shutdown": broker.in_controlled_shutdown,
        "log_dirs": set(broker.log_dirs),
        "cordoned": None if broker.cordoned_log_dirs is None else list(broker.cordoned_log_dirs),
    }
