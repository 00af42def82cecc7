"""UpdateFeatures: upgrades, downgrades and their refusals."""

from typing import Any

import pytest
from tests.unit.controller.cluster import Cluster, features_served
from tests.unit.controller.test_configs import BROKER, SET, altering, stored

from tidelog.controller.controller import Controller
from tidelog.controller.features import UPDATES_MAX
from tidelog.metadata.nodes import VersionRange
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

MV, KRAFT, ELR = "metadata.version", "kraft.version", "eligible.leader.replicas.version"
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def updating(*updates: tuple[str, int, int], validate_only: bool = False) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level, kind in updates
        ],
        validate_only=validate_only,
    )


def level(cluster: Cluster, name: str = MV) -> int:
    return cluster.metadata.features.get(name, 0)


def test_an_upgrade() -> None:
    cluster = Cluster(20).start(1)
    response = cluster.send(updating((MV, 30, UPGRADE)))
    assert (response.error_code, response.error_message) == (0, None)
    assert [(row.feature, row.error_code) for row in response.results] == [(MV, 0)]
    assert all(encode(response, version) for version in (0, 1, 2))
    assert level(cluster) == 30


def test_validate_only() -> None:
    cluster = Cluster(20).start(1)
    result = cluster.decide(updating((MV, 30, UPGRADE), validate_only=True))
    assert (result.response.error_code, result.records) == (0, [])


def test_a_downgrade_over_which_no_record_changed() -> None:
    cluster = Cluster(22).start(1)
    assert cluster.send(updating((MV, 20, SAFE))).error_code == ErrorCode.NONE
    assert level(cluster) == 20
    assert cluster.send(updating((MV, 18, UNSAFE))).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    "update",
    [
        (MV, 29, UPGRADE),  # a downgrade must be asked for
        (MV, 30, 0),
        (MV, 30, 4),
        (MV, 31, UPGRADE),
        (MV, 6, SAFE),
        (MV, 0, SAFE),
        (MV, -1, SAFE),
        (MV, 29, SAFE),  # 30 has fields that 29 can not hold
        (MV, 29, UNSAFE),
        (ELR, 2, UPGRADE),
        (ELR, -1, SAFE),
        (ELR, 0, UPGRADE),
        ("share.version", 1, UPGRADE),  # not served yet
        ("no.such", 1, UPGRADE),
        ("no.such", 0, SAFE),
        (KRAFT, 1, UPGRADE),
        (KRAFT, 2, UPGRADE),
    ],
)
def test_refusals_refuse_all(update: tuple[str, int, int]) -> None:
    cluster = Cluster().start(1)
    result = cluster.decide(updating((ELR, 1, UPGRADE), update) if update[0] != ELR else updating(update))
    assert result.response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert update[0] in result.response.error_message
    assert result.response.results == []
    assert not result.records


def test_downgrade_to_a_newer_version() -> None:
    cluster = Cluster(20).start(1)
    for kind in (SAFE, UNSAFE):
        assert cluster.send(updating((MV, 21, kind))).error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_the_kraft_version_is_only_confirmed() -> None:
    cluster = Cluster().start(1)
    result = cluster.decide(updating((KRAFT, 0, UPGRADE)))
    assert result.response.error_code == ErrorCode.NONE
    assert [type(message).__name__ for message, _ in result.records] == ["NoOpRecord"]
    assert cluster.decide(updating((KRAFT, 0, SAFE))).records == []


def test_a_broker_that_does_not_support_it() -> None:
    cluster = Cluster(22).start(1)
    cluster.register(2, features=features_served(**{MV: VersionRange(7, 25)}))
    response = cluster.send(updating((MV, 30, UPGRADE)))
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "broker 2" in response.error_message
    assert cluster.send(updating((MV, 25, UPGRADE))).error_code == ErrorCode.NONE


def test_dependencies_may_come_in_the_same_request() -> None:
    cluster = Cluster(22).start(1)
    assert cluster.send(updating((ELR, 1, UPGRADE))).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert cluster.send(updating((ELR, 1, UPGRADE), (MV, 23, UPGRADE))).error_code == ErrorCode.NONE
    assert (level(cluster), level(cluster, ELR)) == (23, 1)


def test_of_a_repeated_feature_the_last_counts() -> None:
    cluster = Cluster(20).start(1)
    assert cluster.send(updating((MV, 99, UPGRADE), (MV, 21, UPGRADE))).error_code == ErrorCode.NONE
    assert level(cluster) == 21


def test_version_0_allows_a_downgrade_in_its_own_way() -> None:
    cluster = Cluster(22).start(1)
    update = FeatureUpdateKey(feature=MV, max_version_level=21, allow_downgrade=True)
    assert cluster.send(UpdateFeaturesRequest(feature_updates=[update])).error_code == ErrorCode.NONE
    assert level(cluster) == 21


def test_a_feature_is_switched_off() -> None:
    cluster = Cluster().start(1)
    assert cluster.send(updating((ELR, 0, SAFE))).error_code == ErrorCode.NONE
    assert ELR not in cluster.metadata.features


class TestSwitchingElrOn:
    MIN_ISR = "min.insync.replicas"

    def switched_on(self, *altered: Any, **settings: Any) -> Cluster:
        cluster = Cluster(chosen={ELR: 0}, **settings).start(1, 2)
        for each in altered:
            assert cluster.send(altering(each)).responses[0].error_code == ErrorCode.NONE
        assert cluster.send(updating((ELR, 1, UPGRADE))).error_code == ErrorCode.NONE
        return cluster

    def test_the_file_gives_the_cluster_its_min_isr(self) -> None:
        assert stored(self.switched_on(min_insync_replicas="2"), BROKER, "") == {self.MIN_ISR: "2"}

    def test_what_the_cluster_has_stays_and_what_brokers_have_goes(self) -> None:
        cluster = self.switched_on(
            (BROKER, "", [(self.MIN_ISR, SET, "3")]),
            (BROKER, "2", [(self.MIN_ISR, SET, "4"), ("log.retention.ms", SET, "5")]),
        )
        assert stored(cluster, BROKER, "") == {self.MIN_ISR: "3"}
        assert stored(cluster, BROKER, "2") == {"log.retention.ms": "5"}


def test_controllers_are_asked_too() -> None:
    class Quorum(Cluster):
        def new_controller(self) -> Controller:
            return Controller(self.config, self.entropy, "c", self.end_offset, quorum_node_ids=(1, 2))

    cluster = Quorum(20)
    response = cluster.send(updating((MV, 21, UPGRADE)))
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "controller 2" in response.error_message
    # Before 3.7-IV0 controllers did not register, so their features are not known.
    assert Quorum(12).send(updating((MV, 13, UPGRADE))).error_code == ErrorCode.NONE


def test_more_features_than_could_be_are_refused_unread() -> None:
    cluster = Cluster(20).start(1)
    response = cluster.send(updating(*((f"no.such.{number}", 1, UPGRADE) for number in range(UPDATES_MAX + 1))))
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert str(UPDATES_MAX) in response.error_message
