"""The first records of a cluster, and what a controller writes when it becomes active."""

from typing import Any

import pytest
from tests.unit.metadata.built import metadata_version

from tidelog.metadata.bootstrap import bootstrap_metadata_version, bootstrap_records, initial_feature_levels
from tidelog.metadata.errors import UnknownFeatureLevel
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.metadata.records.cluster import FeatureLevelRecord

ELR = "eligible.leader.replicas.version"


def level(name: str, feature_level: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name=name, feature_level=feature_level)


def messages(records: list[MetadataRecord]) -> list[Any]:
    return [message for message, _ in records]


def test_a_new_cluster_has_the_defaults_of_its_metadata_version() -> None:
    coordinators = {"group.version": 1, "transaction.version": 2}
    assert initial_feature_levels() == {"metadata.version": 30, "kraft.version": 0, ELR: 1, **coordinators}
    assert initial_feature_levels(25) == {"metadata.version": 25, "kraft.version": 0, ELR: 0, **coordinators}
    assert initial_feature_levels(21) == {
        "metadata.version": 21,
        "kraft.version": 0,
        ELR: 0,
        "group.version": 0,
        "transaction.version": 0,
    }


def test_dynamic_voters_need_their_kraft_version() -> None:
    assert initial_feature_levels(dynamic_quorum=True)["kraft.version"] == 1
    assert initial_feature_levels(30, {"kraft.version": 1}, dynamic_quorum=True)["kraft.version"] == 1


def test_a_choice_goes_before_the_default() -> None:
    assert initial_feature_levels(30, {ELR: 0})[ELR] == 0
    assert initial_feature_levels(23, {ELR: 1})[ELR] == 1


@pytest.mark.parametrize(
    ("chosen", "dynamic", "complaint"),
    [
        ({"kraft.version": 1}, False, "goes with dynamic voters"),
        ({"kraft.version": 0}, True, "goes with static voters"),
        ({"metadata.version": 29}, False, "chosen twice: 30 and 29"),
        ({"no.version": 1}, False, "there is no feature 'no.version'"),
        ({ELR: 2}, False, "has no level 2"),
        ({"share.version": 1}, False, "share.version is not served"),
    ],
)
def test_what_can_not_be_is_refused(chosen: dict[str, int], dynamic: bool, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        initial_feature_levels(30, chosen, dynamic_quorum=dynamic)


def test_a_dependency_that_is_missing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"needs metadata\.version 23"):
        initial_feature_levels(22, {ELR: 1})


def test_an_unknown_metadata_version_is_refused() -> None:
    with pytest.raises(UnknownFeatureLevel):
        initial_feature_levels(31)


def test_bootstrap_records_are_feature_levels_metadata_version_first() -> None:
    levels = {"kraft.version": 1, "group.version": 1, "transaction.version": 2, ELR: 0, "metadata.version": 30}
    assert bootstrap_records(levels) == [
        (level("metadata.version", 30), 0),
        (level("group.version", 1), 0),
        (level("transaction.version", 2), 0),
    ]


def test_bootstrap_records_without_a_metadata_version_are_refused() -> None:
    assert bootstrap_metadata_version(bootstrap_records(initial_feature_levels(25))) == 25
    with pytest.raises(ValueError, match="no FeatureLevelRecord"):
        bootstrap_metadata_version([MetadataRecord(level("group.version", 1), 0)])
    with pytest.raises(UnknownFeatureLevel):
        bootstrap_metadata_version([MetadataRecord(metadata_version(31), 0)])
