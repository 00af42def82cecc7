"""An image as records: the right ones, in Kafka's order and versions, and nothing lost."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.unit.metadata.built import (
    acl,
    broker,
    config,
    controller,
    frozen,
    metadata_version,
    partition,
    quota,
    scram,
    token,
    topic,
    uuid,
)

from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.errors import UnknownFeatureLevel, UnwritableMetadata
from tidelog.metadata.image import MetadataImage, empty_image
from tidelog.metadata.record_framing import decode_metadata_record, encode_metadata_record
from tidelog.metadata.records.cluster import FeatureLevelRecord, ProducerIdsRecord
from tidelog.metadata.records.topics import PartitionRecord
from tidelog.metadata.snapshot_records import image_records

EVERYTHING = [
    token(),
    scram("alice", 1),
    scram("alice", 2),
    acl(1),
    ProducerIdsRecord(broker_id=1, next_producer_id=5000),
    quota({"user": "alice", "client-id": None}, "rate", 0.5),
    config(2, "topic-2", "retention.ms", "5"),
    config(2, "topic-2", "cleanup.policy", "compact"),
    config(4, "", "min.insync.replicas", "2"),
    topic(2),
    partition(2, 1, leader=-1, isr=[], eligible_leader_replicas=[1, 2], last_known_elr=[3]),
    partition(2, 0, leader_recovery_state=1, adding_replicas=[3], removing_replicas=[1]),
    controller(1),
    broker(1, rack="r", fenced=False, log_dirs=[uuid(1)], cordoned_log_dirs=[]),
    broker(2, is_migrating_zk_broker=True, in_controlled_shutdown=True),
    FeatureLevelRecord(name="group.version", feature_level=1),
    FeatureLevelRecord(name="a.feature.of.another.release", feature_level=3),
]
OLD = [
    broker(1, fenced=False),
    topic(1),
    partition(1, directories=[]),
    config(2, "topic-1", "a", "b"),
    quota({"ip": None}, "rate", 1.0),
    acl(1),
]


def image_of(level: int, records: Iterable[Any]) -> MetadataImage:
    draft = MetadataDraft()
    draft.replay(metadata_version(level))
    for record in records:
        draft.replay(record)
    return frozen(draft)


def through_bytes(image: MetadataImage) -> MetadataImage:
    """Return the image as a snapshot on disk would give it back, without the fields that a version lacks."""
    draft = MetadataDraft()
    for message, version in image_records(image):
        draft.replay(decode_metadata_record(encode_metadata_record(message, version)).message)
    return frozen(draft)


def test_everything_comes_back() -> None:
    image = image_of(30, EVERYTHING)
    assert through_bytes(image) == image


@pytest.mark.parametrize("level", range(7, 31))
def test_at_every_metadata_version_what_it_can_hold_comes_back(level: int) -> None:
    image = image_of(level, OLD)
    assert through_bytes(image) == image


def test_the_order_is_kafkas() -> None:
    kinds = [type(message).__name__ for message, _ in image_records(image_of(30, EVERYTHING))]
    assert list(dict.fromkeys(kinds)) == [
        "FeatureLevelRecord",
        "RegisterBrokerRecord",
        "RegisterControllerRecord",
        "TopicRecord",
        "PartitionRecord",
        "ConfigRecord",
        "ClientQuotaRecord",
        "ProducerIdsRecord",
        "AccessControlEntryRecord",
        "UserScramCredentialRecord",
        "DelegationTokenRecord",
    ]
    first = next(image_records(image_of(30, EVERYTHING))).message
    assert first == metadata_version(30)


def test_partitions_follow_their_topic_in_order() -> None:
    partitions = [m.partition_id for m, _ in image_records(image_of(30, EVERYTHING)) if isinstance(m, PartitionRecord)]
    assert partitions == [0, 1]


@pytest.mark.parametrize(
    ("level", "versions"), [(7, (1, 0)), (8, (2, 0)), (17, (3, 1)), (23, (3, 2)), (29, (3, 2)), (30, (4, 2))]
)
def test_versions_follow_the_metadata_version(level: int, versions: tuple[int, int]) -> None:
    by_kind = {type(message).__name__: version for message, version in image_records(image_of(level, OLD))}
    assert (by_kind["RegisterBrokerRecord"], by_kind["PartitionRecord"]) == versions


@pytest.mark.parametrize(
    ("level", "records", "loss"),
    [
        (16, [topic(1), partition(1)], "log directories of partition 0"),
        (16, [broker(1, log_dirs=[uuid(1)])], "log directories of broker 1"),
        (29, [broker(1, cordoned_log_dirs=[])], "cordoned log directories of broker 1"),
        (22, [topic(1), partition(1, eligible_leader_replicas=[1])], "eligible leader replicas of partition 0"),
        (22, [topic(1), partition(1, last_known_elr=[1])], "eligible leader replicas of partition 0"),
        (14, [controller(1)], "a RegisterControllerRecord"),
        (10, [scram()], "a UserScramCredentialRecord"),
        (13, [token()], "a DelegationTokenRecord"),
    ],
)
def test_what_can_not_be_written_is_an_error_and_not_left_out(level: int, records: list[Any], loss: str) -> None:
    with pytest.raises(UnwritableMetadata, match=f"metadata.version {level} can not hold .*{loss}"):
        list(image_records(image_of(level, records)))
    image = image_of(level + 1, records)
    assert through_bytes(image) == image


def test_of_nothing_there_are_no_records() -> None:
    assert list(image_records(empty_image())) == []


def test_without_a_metadata_version_nobody_could_read_the_records() -> None:
    draft = MetadataDraft()
    draft.replay(topic())
    with pytest.raises(UnknownFeatureLevel):
        list(image_records(frozen(draft)))
