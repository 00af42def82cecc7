"""BrokerHeartbeat: fencing and unfencing, controlled shutdown, sessions, and directories that fail."""

import pytest
from tests.unit.controller.cluster import SESSION_MS, Cluster, assigning, count_turns, create, directory, topic

from tidelog.metadata.records.topics import PartitionChangeRecord
from tidelog.metadata.topics import NO_LEADER
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode

NO_ELR = {"eligible.leader.replicas.version": 0}


def test_stale_epochs() -> None:
    cluster = Cluster().start(1)
    epoch = cluster.metadata.brokers[1].epoch
    for broker_id, broker_epoch in ((1, epoch - 1), (1, epoch + 1), (1, -1), (9, epoch)):
        result = cluster.decide(cluster.beat(broker_id, broker_epoch=broker_epoch))
        assert result.response.error_code == ErrorCode.STALE_BROKER_EPOCH
        assert not result.records
        assert encode(result.response, 1)


class TestFencing:
    def test_a_broker_is_unfenced_when_it_has_read_its_registration(self) -> None:
        cluster = Cluster()
        epoch = cluster.register(1)
        behind = cluster.heartbeat(1, current_metadata_offset=epoch - 1)
        assert (behind.is_caught_up, behind.is_fenced) == (False, True)
        caught_up = cluster.heartbeat(1, current_metadata_offset=epoch)
        assert (caught_up.is_caught_up, caught_up.is_fenced, caught_up.should_shut_down) == (True, False, False)
        assert not cluster.metadata.brokers[1].fenced

    def test_it_may_stay_fenced(self) -> None:
        cluster = Cluster()
        cluster.register(1)
        result = cluster.decide(cluster.beat(1, want_fence=True))
        assert (result.response.is_fenced, result.records) == (True, [])

    def test_an_unchanged_one_writes_nothing(self) -> None:
        cluster = Cluster().start(1)
        assert cluster.decide(cluster.beat(1)).records == []

    def test_it_asks_to_be_fenced(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [2, 1], [1, 2])
        cluster.assign("alone", [2])
        result = cluster.decide(cluster.beat(2, want_fence=True))
        assert result.response.is_fenced
        # Partitions leave the broker before it is fenced.
        assert type(result.records[-1][0]).__name__ == "BrokerRegistrationChangeRecord"
        partitions = [cluster.partition("t"), cluster.partition("t", 1), cluster.partition("alone")]
        assert [each.leader for each in partitions] == [1, 1, NO_LEADER]
        assert [each.isr for each in partitions] == [(1,), (1,), (2,)]
        assert [each.leader_epoch for each in partitions] == [1, 0, 1]

    def test_what_waited_for_it_is_led_again(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [2], [1])
        cluster.heartbeat(2, want_fence=True)
        result = cluster.decide(cluster.beat(2))
        assert len(result.records) == 2
        assert (cluster.partition("t").leader, cluster.partition("t").leader_epoch) == (2, 2)

    def test_a_replica_that_fell_behind_does_not_lead(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [1, 2])
        cluster.heartbeat(2, want_fence=True)
        cluster.heartbeat(1, want_fence=True)
        cluster.heartbeat(2)
        assert (cluster.partition("t").leader, cluster.partition("t").isr) == (NO_LEADER, (1,))

    def test_unless_the_topic_allows_it(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [1, 2], unclean_leader_election_enable="true")
        cluster.heartbeat(2, want_fence=True)
        cluster.heartbeat(1, want_fence=True)
        cluster.heartbeat(2)
        assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2,))

    def test_below_min_isr_it_stays_eligible(self) -> None:
        cluster = Cluster().start(1, 2)
        cluster.assign("t", [1, 2], min_insync_replicas="2")
        cluster.heartbeat(2, want_fence=True)
        assert (cluster.partition("t").isr, cluster.partition("t").elr) == ((1,), (2,))
        cluster.heartbeat(1, want_fence=True)
        assert (cluster.partition("t").isr, cluster.partition("t").elr) == ((), (1, 2))
        cluster.heartbeat(2)
        assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2,))

    def test_min_isr_counts_at_most_as_many_as_there_are_replicas(self) -> None:
        cluster = Cluster().start(1)
        cluster.create("t", min_insync_replicas="5")
        cluster.heartbeat(1, want_fence=True)
        cluster.heartbeat(1)
        assert (cluster.partition("t").leader, cluster.partition("t").elr) == (1, ())


class TestSessions:
    def test_silence_fences(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [2, 1])
        assert cluster.controller.deadline == cluster.now_ms + SESSION_MS
        cluster.now_ms += SESSION_MS - 1
        cluster.heartbeat(1)
        assert cluster.step().records == []
        cluster.now_ms += 1
        assert cluster.controller.deadline == cluster.now_ms
        assert len(cluster.step().records) == 2
        assert cluster.metadata.brokers[2].fenced
        assert cluster.partition("t").leader == 1
        assert cluster.controller.deadline == cluster.now_ms - 1 + SESSION_MS

    def test_one_at_a_time_so_that_each_sees_what_is_left(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2, 3)
        cluster.assign("t", [1, 2, 3])
        cluster.now_ms += SESSION_MS
        for leader in (2, 3, NO_LEADER):
            cluster.step()
            assert cluster.partition("t").leader == leader
        assert cluster.controller.deadline is None
        assert cluster.partition("t").isr == (3,)

    def test_a_silent_fenced_broker_costs_no_record(self) -> None:
        cluster = Cluster().start(1)
        cluster.heartbeat(1, want_fence=True)
        cluster.now_ms += SESSION_MS
        assert cluster.step().records == []
        assert cluster.controller.deadline is None

    def test_a_new_controller_gives_everybody_a_session(self) -> None:
        cluster = Cluster().start(1, 2)
        cluster.register(3)
        cluster.now_ms += 2 * SESSION_MS
        cluster.failover()
        assert cluster.step().records == []
        assert cluster.controller.deadline == cluster.now_ms + SESSION_MS
        cluster.now_ms += SESSION_MS
        cluster.step()
        cluster.step()
        assert all(broker.fenced for broker in cluster.metadata.brokers.values())

    def test_a_stale_heartbeat_keeps_no_session_alive(self) -> None:
        cluster = Cluster().start(1)
        cluster.now_ms += SESSION_MS
        cluster.heartbeat(1, broker_epoch=0)
        assert cluster.step().records


class TestControlledShutdown:
    def test_leaders_move_first_and_everybody_knows(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2, 3)
        cluster.assign("t", [2, 1])
        for broker_id in (1, 3):
            cluster.heartbeat(broker_id)
        leaving = cluster.heartbeat(2, want_shut_down=True)
        assert (leaving.is_fenced, leaving.should_shut_down) == (False, False)
        assert cluster.metadata.brokers[2].in_controlled_shutdown
        assert (cluster.partition("t").leader, cluster.partition("t").isr) == (1, (1,))
        cluster.heartbeat(1)
        assert not cluster.heartbeat(2, want_shut_down=True).should_shut_down, "broker 3 does not know yet"
        cluster.heartbeat(3)
        done = cluster.heartbeat(2, want_shut_down=True)
        assert (done.is_fenced, done.should_shut_down) == (True, True)
        assert cluster.metadata.brokers[2].fenced

    def test_a_single_node_gives_up_what_nobody_else_can_lead(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1)
        cluster.create("t", 2)
        assert not cluster.heartbeat(1, want_shut_down=True).should_shut_down
        assert cluster.partition("t").leader == NO_LEADER
        assert cluster.heartbeat(1, want_shut_down=True).should_shut_down

    def test_one_that_leads_nothing_may_go_at_once(self) -> None:
        cluster = Cluster().start(1, 2)
        cluster.assign("t", [1, 2])
        assert cluster.heartbeat(2, want_shut_down=True).should_shut_down
        assert cluster.partition("t").isr == (1,)

    def test_as_may_one_that_wants_to_be_fenced_as_well(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [2, 1])
        assert cluster.heartbeat(2, want_shut_down=True, want_fence=True).should_shut_down
        assert cluster.partition("t").leader == 1

    def test_and_a_fenced_one(self) -> None:
        cluster = Cluster()
        cluster.register(1)
        result = cluster.decide(cluster.beat(1, want_shut_down=True))
        assert (result.response.should_shut_down, result.response.is_fenced, result.records) == (True, True, [])

    def test_it_is_not_forgotten_over_a_failover(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1, 2)
        cluster.assign("t", [2, 1])
        cluster.heartbeat(2, want_shut_down=True)
        cluster.failover()
        assert cluster.heartbeat(2, want_shut_down=True).should_shut_down


class TestDirectories:
    def test_a_failed_directory_takes_its_replicas_out(self) -> None:
        cluster = self.two_directories(NO_ELR)
        cluster.heartbeat(1, offline_log_dirs=[directory(1, 1)])
        assert cluster.metadata.brokers[1].log_dirs == (directory(1),)
        assert [cluster.partition("t", number).leader for number in range(2)] == [1, 2]
        assert [cluster.partition("t", number).isr for number in range(2)] == [(1, 2), (2,)]
        assert (cluster.partition("alone").leader, cluster.partition("alone").isr) == (NO_LEADER, (1,))
        # The same failed directory, reported again, changes nothing.
        assert cluster.decide(cluster.beat(1, offline_log_dirs=[directory(1, 1)])).records == []

    def test_and_nothing_on_it_is_led_again(self) -> None:
        cluster = self.two_directories(NO_ELR)
        cluster.heartbeat(1, offline_log_dirs=[directory(1, 1)])
        cluster.heartbeat(1, want_fence=True)
        cluster.heartbeat(1)
        assert [cluster.partition("t", number).leader for number in range(2)] == [2, 2]
        assert cluster.partition("alone").leader == NO_LEADER

    @pytest.mark.parametrize("features", [NO_ELR, {}], ids=["no elr", "elr"])
    def test_a_directory_that_fails_while_the_broker_is_unfenced(self, features: dict[str, int]) -> None:
        cluster = self.two_directories(features)
        cluster.heartbeat(1, want_fence=True)
        assert cluster.partition("alone").leader == NO_LEADER
        cluster.heartbeat(1, offline_log_dirs=[directory(1, 1)])
        assert cluster.partition("alone").leader == NO_LEADER

    @pytest.mark.parametrize("wish", ["want_fence", "want_shut_down"])
    def test_while_it_leaves_no_partition_is_changed_twice(self, wish: str) -> None:
        cluster = self.two_directories(NO_ELR)
        result = cluster.decide(cluster.beat(1, offline_log_dirs=[directory(1, 1)], **{wish: True}))
        changes = [message for message, _ in result.records if isinstance(message, PartitionChangeRecord)]
        assert len(changes) == len({(change.topic_id, change.partition_id) for change in changes}) == 3
        assert cluster.metadata.brokers[1].log_dirs == (directory(1),)

    def two_directories(self, features: dict[str, int]) -> Cluster:
        """Make a broker with two directories: partition 0 lies in the first, partition 1 in the second, and so does the
        topic that only this broker has."""
        cluster = Cluster(chosen=features).start(2)
        cluster.start(1, log_dirs=[directory(1), directory(1, 1)])
        topic_id = cluster.assign("t", [1, 2], [1, 2])
        cluster.send(assigning(cluster, 1, {directory(1): {topic_id: [0]}, directory(1, 1): {topic_id: [1]}}))
        alone = cluster.assign("alone", [1])
        cluster.send(assigning(cluster, 1, {directory(1, 1): {alone: [0]}}))
        return cluster

    def test_before_directories_they_are_not_heard(self) -> None:
        cluster = Cluster(16).start(1, log_dirs=[])
        assert cluster.decide(cluster.beat(1, offline_log_dirs=[directory(1)])).records == []


class TestCordoned:
    def test_is_written_when_it_changes(self) -> None:
        cluster = Cluster().start(1, log_dirs=[directory(1), directory(1, 1)])
        both = [directory(1), directory(1, 1)]
        assert cluster.decide(cluster.beat(1, cordoned_log_dirs=None)).records == []
        assert len(cluster.decide(cluster.beat(1, cordoned_log_dirs=both)).records) == 1
        assert cluster.decide(cluster.beat(1, cordoned_log_dirs=both[::-1])).records == []
        assert len(cluster.decide(cluster.beat(1, cordoned_log_dirs=[])).records) == 1
        assert cluster.metadata.brokers[1].cordoned_log_dirs == ()

    def test_older_metadata_has_no_place_for_it(self) -> None:
        cluster = Cluster(29).start(1)
        assert cluster.decide(cluster.beat(1, cordoned_log_dirs=[directory(1)])).records == []


def test_a_large_broker_is_fenced_in_slices() -> None:
    cluster = Cluster().start(1)
    cluster.send(create(topic("t", 1000, 1)))
    assert count_turns(cluster.controller.handle(cluster.now_ms, cluster.beat(1, want_fence=True))) >= 4
    cluster.now_ms += SESSION_MS
    assert count_turns(cluster.controller.step(cluster.now_ms)) >= 4
