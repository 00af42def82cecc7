"""Names and levels of features, as Kafka 4.3 has them."""

import pytest

from tidelog.metadata.errors import UnknownFeatureLevel, UnwritableMetadata
from tidelog.metadata.feature_levels import (
    FEATURES,
    METADATA_VERSION_NAMES,
    SERVED,
    default_level,
    level_problem,
    metadata_version_name,
    parse_metadata_version,
)
from tidelog.metadata.record_versions import record_version
from tidelog.metadata.records import METADATA_RECORDS
from tidelog.metadata.records.brokers import BrokerRegistrationChangeRecord
from tidelog.metadata.records.topics import ClearElrRecord, PartitionChangeRecord
from tidelog.metadata.records.transactions import BeginTransactionRecord, NoOpRecord
from tidelog.protocol.schema import schema_of


def test_metadata_versions_have_names_without_gaps() -> None:
    assert list(METADATA_VERSION_NAMES) == list(range(7, 31))
    names = {7: "3.3-IV3", 8: "3.4-IV0", 11: "3.5-IV2", 19: "3.7-IV4", 21: "3.9-IV0", 25: "4.0-IV3", 30: "4.3-IV0"}
    assert {level: metadata_version_name(level) for level in names} == names


@pytest.mark.parametrize(
    ("text", "level"),
    [("4.3-IV0", 30), ("4.3", 30), ("4.3.1", 30), ("4.2", 29), ("4.2-IV0", 28), ("3.3", 7), ("3.7", 19), ("4.0.0", 25)],
)
def test_a_metadata_version_is_named_in_several_ways(text: str, level: int) -> None:
    assert parse_metadata_version(text) == level


@pytest.mark.parametrize("text", ["", "3.2", "3.3-IV0", "4.4", "4.4-IV0", "30", "4", "latest"])
def test_an_unknown_name_is_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(ValueError, match=r"known are 3\.3-IV3, .*, 4\.3-IV0"):
        parse_metadata_version(text)


@pytest.mark.parametrize("level", [-1, 0, 6, 31])
def test_an_unknown_level_has_no_name(level: int) -> None:
    with pytest.raises(UnknownFeatureLevel):
        metadata_version_name(level)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("kraft.version", {7: 0, 20: 0, 21: 1, 30: 1}),
        ("transaction.version", {23: 0, 24: 2, 30: 2}),
        ("group.version", {21: 0, 22: 1}),
        ("eligible.leader.replicas.version", {25: 0, 26: 1}),
        ("share.version", {27: 0, 28: 1}),
        ("streams.version", {28: 0, 29: 1}),
    ],
)
def test_defaults_follow_the_metadata_version(name: str, changes: dict[int, int]) -> None:
    assert {level: default_level(name, level) for level in changes} == changes


def test_what_we_serve_is_within_what_there_is() -> None:
    for name, levels in SERVED.items():
        assert name == "metadata.version" or levels.max < len(FEATURES[name])


@pytest.mark.parametrize(
    ("name", "level", "features", "problem"),
    [
        ("group.version", 1, {"metadata.version": 22}, None),
        ("group.version", 1, {"metadata.version": 7}, None),  # only its default needs a later metadata.version
        ("group.version", 0, {}, None),
        ("group.version", 1, {}, "needs metadata.version 7"),
        ("group.version", 2, {"metadata.version": 30}, "has no level 2"),
        ("group.version", -1, {"metadata.version": 30}, "has no level -1"),
        ("eligible.leader.replicas.version", 1, {"metadata.version": 22}, "needs metadata.version 23"),
        ("eligible.leader.replicas.version", 1, {"metadata.version": 23}, None),
        ("eligible.leader.replicas.version", 0, {"metadata.version": 7}, None),
        ("no.version", 1, {"metadata.version": 30}, "there is no feature 'no.version'"),
    ],
)
def test_a_level_may_need_another(name: str, level: int, features: dict[str, int], problem: str | None) -> None:
    found = level_problem(name, level, features)
    assert found is None if problem is None else found is not None and problem in found


def test_at_the_latest_metadata_version_every_record_has_its_latest_version() -> None:
    latest = {cls.__name__: record_version(cls, 30) for cls in METADATA_RECORDS.values()}
    assert latest == {cls.__name__: schema_of(cls).versions.highest for cls in METADATA_RECORDS.values()}


@pytest.mark.parametrize(
    ("cls", "versions"),
    [
        (PartitionChangeRecord, {7: 0, 16: 0, 17: 1, 22: 1, 23: 2}),
        (BrokerRegistrationChangeRecord, {7: 1, 16: 1, 17: 2, 29: 2, 30: 3}),
        (NoOpRecord, {7: 0}),
        (BeginTransactionRecord, {13: 0}),
    ],
)
def test_older_metadata_versions_write_older_versions(cls: type, versions: dict[int, int]) -> None:
    assert {level: record_version(cls, level) for level in versions} == versions


@pytest.mark.parametrize(("cls", "level"), [(BeginTransactionRecord, 12), (ClearElrRecord, 22)])
def test_a_record_that_came_later_can_not_be_written(cls: type, level: int) -> None:
    with pytest.raises(UnwritableMetadata, match=cls.__name__):
        record_version(cls, level)
