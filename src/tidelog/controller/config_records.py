"""The records of changed settings. A null value takes a setting back.

A replica became an eligible leader by the min ISR of the time at which it left the ISR. Under another one it need not
hold everything committed, so a new min.insync.replicas makes the cluster forget its eligible leader replicas.
"""

from collections.abc import Mapping

from tidelog.config.settings import replication
from tidelog.controller.results import Record
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.records.cluster import ConfigRecord
from tidelog.metadata.records.topics import ClearElrRecord

MIN_INSYNC_REPLICAS = replication.MIN_INSYNC_REPLICAS.name


def change_records(resource: ConfigResource, changes: Mapping[str, str | None], *, elr_enabled: bool) -> list[Record]:
    records: list[Record] = [(config_record(resource, name, value), 0) for name, value in changes.items()]
    if elr_enabled and MIN_INSYNC_REPLICAS in changes:
        topic = resource.name if resource.type is ResourceType.TOPIC else ""
        records.append((ClearElrRecord(topic_name=topic), 0))
    return records


def config_record(resource: ConfigResource, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
