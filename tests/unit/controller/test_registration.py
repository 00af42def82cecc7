"""BrokerRegistration, UnregisterBroker, ControllerRegistration."""

from typing import Any

import pytest
from tests.unit.controller.cluster import (
    FIRST_OFFSET,
    SESSION_MS,
    Cluster,
    directory,
    features_served,
    registration,
    uuid,
)

from tidelog.metadata.directories import LOST_DIRECTORY
from tidelog.metadata.nodes import VersionRange
from tidelog.metadata.topics import NO_LEADER, LeaderRecoveryState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.broker_registration import Feature, Listener
from tidelog.protocol.messages.controller_registration import ControllerRegistrationRequest
from tidelog.protocol.messages.controller_registration import Feature as ControllerFeature
from tidelog.protocol.messages.controller_registration import Listener as ControllerListener
from tidelog.protocol.messages.unregister_broker import UnregisterBrokerRequest

NO_ELR = {"eligible.leader.replicas.version": 0}
OTHER = uuid(999)


def test_a_broker_registers_and_is_fenced() -> None:
    cluster = Cluster()
    response = cluster.send(registration(5, rack="a"))
    broker = cluster.metadata.brokers[5]
    assert (response.error_code, response.broker_epoch) == (ErrorCode.NONE, broker.epoch)
    assert encode(response, 4)
    assert (broker.fenced, broker.in_controlled_shutdown, broker.rack) == (True, False, "a")
    assert broker.log_dirs == (directory(5),)
    assert broker.endpoints["PLAINTEXT"].port == 9092
    assert broker.features["metadata.version"] == VersionRange(7, 30)


def test_its_epoch_is_the_offset_of_its_record() -> None:
    cluster = Cluster().start(1)
    cluster.create("t", 4)
    cluster.now_ms += SESSION_MS
    epoch = cluster.register(1, incarnation_id=OTHER)
    assert type(cluster.log[epoch - FIRST_OFFSET][0]).__name__ == "RegisterBrokerRecord"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"incarnation_id": OTHER}, ErrorCode.DUPLICATE_BROKER_REGISTRATION),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({"broker_id": -1}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory(1), directory(1)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [LOST_DIRECTORY]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [uuid(99)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory(2)]}, ErrorCode.INVALID_REGISTRATION),
        ({"features": []}, ErrorCode.INVALID_REGISTRATION),
        ({"features": features_served(**{"metadata.version": VersionRange(7, 29)})}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)]},
            ErrorCode.UNSUPPORTED_VERSION,  # eligible.leader.replicas.version is at 1
        ),
        ({"features": features_served(**{"new.one": VersionRange(1, 2)})}, ErrorCode.UNSUPPORTED_VERSION),
        ({"features": features_served(**{"kraft.version": VersionRange(1, 1)})}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"listeners": [Listener(name="X", host="h", port=1, security_protocol=9)]},
            ErrorCode.INVALID_REGISTRATION,
        ),
    ],
)
def test_refusals(changes: dict[str, Any], code: ErrorCode) -> None:
    cluster = Cluster().start(1, 2)
    before = cluster.metadata.brokers[1]
    result = cluster.decide(registration(**{"broker_id": 1, **changes}))
    assert (result.response.error_code, result.response.broker_epoch) == (code, -1)
    assert not result.records
    assert cluster.metadata.brokers[1] == before
    assert cluster.heartbeat(1).error_code == ErrorCode.NONE


def test_before_directories_none_are_asked_for() -> None:
    cluster = Cluster(16).start(1, log_dirs=[])
    assert cluster.metadata.brokers[1].log_dirs == ()


def test_features_nobody_has_finalized_do_not_matter() -> None:
    assert Cluster().start(1, features=features_served(**{"new.one": VersionRange(0, 2)})).metadata.brokers[1]


class TestTheSameIncarnation:
    def test_amends_what_it_said(self) -> None:
        cluster = Cluster().start(1)
        epoch = cluster.metadata.brokers[1].epoch
        assert cluster.register(1, rack="moved", log_dirs=[directory(1), directory(1, 1)]) == epoch
        broker = cluster.metadata.brokers[1]
        assert (broker.epoch, broker.rack, broker.fenced, len(broker.log_dirs)) == (epoch, "moved", False, 2)

    def test_stays_in_shutdown(self) -> None:
        cluster = Cluster().start(1)
        cluster.create("t")
        cluster.heartbeat(1, want_shut_down=True)
        cluster.register(1)
        assert cluster.metadata.brokers[1].in_controlled_shutdown


class TestANewIncarnation:
    def test_waits_for_the_session_of_the_old_one(self) -> None:
        cluster = Cluster().start(2)
        cluster.now_ms += SESSION_MS - 1
        assert cluster.send(registration(2, incarnation_id=OTHER)).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
        cluster.now_ms += 1
        assert cluster.register(2, incarnation_id=OTHER)

    def test_need_not_wait_for_one_that_never_was_heard_of(self) -> None:
        cluster = Cluster()
        first = cluster.register(2)
        assert cluster.register(2, incarnation_id=OTHER) > first

    def test_nor_for_one_that_was_told_to_stop(self) -> None:
        cluster = Cluster().start(2)
        assert cluster.heartbeat(2, want_shut_down=True).should_shut_down
        assert cluster.register(2, incarnation_id=OTHER)

    def test_after_a_failover_registered_brokers_are_presumed_alive(self) -> None:
        cluster = Cluster().start(2)
        cluster.failover()
        assert cluster.send(registration(2, incarnation_id=OTHER)).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION

    def test_but_not_the_one_on_the_controllers_own_node(self) -> None:
        """A combined node that was killed and restarted must not wait for the end of its own session."""
        cluster = Cluster().start(1)
        cluster.failover()
        assert cluster.register(1, incarnation_id=OTHER)

    def test_unless_it_was_heard_of_since(self) -> None:
        cluster = Cluster().start(1)
        cluster.failover()
        cluster.heartbeat(1)
        assert cluster.send(registration(1, incarnation_id=OTHER)).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION

    @pytest.mark.parametrize("clean", [True, False])
    def test_leaves_all_isrs_first(self, clean: bool) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [2, 1])
        cluster.now_ms += SESSION_MS
        previous = cluster.metadata.brokers[2].epoch if clean else -1
        result = cluster.decide(registration(2, incarnation_id=OTHER, previous_broker_epoch=previous))
        assert [type(message).__name__ for message, _ in result.records] == [
            "PartitionChangeRecord",
            "RegisterBrokerRecord",
        ]
        assert not result.is_atomic
        assert (cluster.partition("t").isr, cluster.partition("t").leader) == ((1,), 1)

    def test_with_elr_a_clean_one_stays_eligible(self) -> None:
        cluster = self.restarted_alone(clean=True)
        assert (cluster.partition("t").isr, cluster.partition("t").elr) == ((), (1,))
        assert not cluster.heartbeat(1).is_fenced
        partition = cluster.partition("t")
        assert (partition.isr, partition.elr, partition.leader) == ((1,), (), 1)
        assert partition.leader_recovery_state is LeaderRecoveryState.RECOVERED

    def test_with_elr_one_that_crashed_does_not(self) -> None:
        cluster = self.restarted_alone(clean=False)
        partition = cluster.partition("t")
        assert (partition.isr, partition.elr, partition.leader) == ((), (), NO_LEADER)
        # The only copy there is: it leads, and is marked as possibly incomplete.
        assert not cluster.heartbeat(1).is_fenced
        partition = cluster.partition("t")
        assert (partition.isr, partition.leader) == ((1,), 1)
        assert partition.leader_recovery_state is LeaderRecoveryState.RECOVERING

    def restarted_alone(self, *, clean: bool) -> Cluster:
        cluster = Cluster().start(1)
        cluster.create("t")
        epoch = cluster.metadata.brokers[1].epoch
        if clean:
            cluster.heartbeat(1, want_shut_down=True)
            assert cluster.heartbeat(1, want_shut_down=True).should_shut_down
        cluster.failover()
        cluster.register(1, incarnation_id=OTHER, previous_broker_epoch=epoch if clean else -1)
        return cluster


class TestUnregister:
    def test_a_broker_goes_for_good(self) -> None:
        cluster = Cluster().start(1, 2)
        cluster.assign("t", [2, 1])
        cluster.assign("small", [2, 1], min_insync_replicas="2")
        response = cluster.send(UnregisterBrokerRequest(broker_id=2))
        assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
        assert encode(response, 0)
        assert 2 not in cluster.metadata.brokers
        assert cluster.partition("t").leader == 1
        assert cluster.heartbeat(2).error_code == ErrorCode.STALE_BROKER_EPOCH
        cluster.now_ms += 2 * SESSION_MS
        cluster.step()
        assert cluster.controller.deadline is None

    def test_one_that_is_not_there(self) -> None:
        result = Cluster().decide(UnregisterBrokerRequest(broker_id=2))
        assert result.response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
        assert not result.records


class TestControllerRegistration:
    REQUEST = ControllerRegistrationRequest(
        controller_id=7,
        incarnation_id=uuid(70),
        zk_migration_ready=True,
        listeners=[ControllerListener(name="C", host="h", port=9093, security_protocol=0)],
        features=[ControllerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)],
    )

    def test_registers(self) -> None:
        cluster = Cluster()
        assert cluster.send(self.REQUEST).error_code == ErrorCode.NONE
        found = cluster.metadata.controllers[7]
        assert (found.endpoints["C"].port, found.features["metadata.version"]) == (9093, VersionRange(7, 30))

    def test_old_metadata_has_no_record_for_it(self) -> None:
        result = Cluster(14).decide(self.REQUEST)
        assert (result.response.error_code, result.records) == (ErrorCode.UNSUPPORTED_VERSION, [])
