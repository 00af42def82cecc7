"""AlterConfigs and IncrementalAlterConfigs for every kind of resource."""

from typing import Any

import pytest
from tests.unit.controller.cluster import Cluster, count_turns, create, topic

from tidelog.controller.config_resources import SETTINGS_MAX
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.records.topics import ClearElrRecord
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages import alter_configs as whole
from tidelog.protocol.messages import incremental_alter_configs as incremental

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
NO_ELR = {"eligible.leader.replicas.version": 0}
Op = tuple[str, int, str | None]


def altering(*resources: tuple[int, str, list[Op]], validate_only: bool = False) -> Any:
    return incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    incremental.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in ops
                ],
            )
            for kind, name, ops in resources
        ],
        validate_only=validate_only,
    )


def replacing(kind: int, name: str, *configs: tuple[str, str | None], validate_only: bool = False) -> Any:
    return whole.AlterConfigsRequest(
        resources=[
            whole.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[whole.AlterableConfig(name=key, value=value) for key, value in configs],
            )
        ],
        validate_only=validate_only,
    )


def codes(response: Any) -> list[ErrorCode]:
    return [ErrorCode(row.error_code) for row in response.responses]


def stored(cluster: Cluster, kind: int, name: str) -> dict[str, str]:
    return dict(cluster.metadata.configs.get(ConfigResource(ResourceType(kind), name), {}))


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster().start(1, 2)
    cluster.create("t", cleanup_policy="delete", flush_ms="5")
    return cluster


class TestIncremental:
    def test_each_operation(self, cluster: Cluster) -> None:
        ops: list[Op] = [
            ("retention.ms", SET, "7"),
            ("flush.ms", DELETE, None),
            ("cleanup.policy", APPEND, "compact"),
        ]
        response = cluster.send(altering((TOPIC, "t", ops)))
        assert codes(response) == [ErrorCode.NONE]
        assert response.responses[0].error_message is None
        assert encode(response, 1)
        assert stored(cluster, TOPIC, "t") == {"cleanup.policy": "delete,compact", "retention.ms": "7"}
        cluster.send(altering((TOPIC, "t", [("cleanup.policy", SUBTRACT, "delete")])))
        assert stored(cluster, TOPIC, "t")["cleanup.policy"] == "compact"

    def test_what_does_not_change_is_not_written(self, cluster: Cluster) -> None:
        ops: list[Op] = [("flush.ms", SET, "5"), ("retention.ms", DELETE, None)]
        assert cluster.decide(altering((TOPIC, "t", ops))).records == []

    def test_but_a_brokers_is_so_that_it_reads_its_files_again(self, cluster: Cluster) -> None:
        ops: list[Op] = [("log.retention.ms", SET, "5000")]
        assert [len(cluster.decide(altering((BROKER, "1", ops))).records) for _ in range(2)] == [1, 1]

    def test_a_resource_is_altered_whole_or_not_at_all_and_each_by_itself(self, cluster: Cluster) -> None:
        bad: tuple[int, str, list[Op]] = (TOPIC, "t", [("retention.ms", SET, "7"), ("flush.ms", SET, "never")])
        result = cluster.decide(altering(bad, (GROUP, "g", [("consumer.session.timeout.ms", SET, "50000")])))
        assert codes(result.response) == [ErrorCode.INVALID_CONFIG, ErrorCode.NONE]
        assert [message.resource_name for message, _ in result.records] == ["g"]

    def test_validate_only(self, cluster: Cluster) -> None:
        result = cluster.decide(altering((TOPIC, "t", [("retention.ms", SET, "7")]), validate_only=True))
        assert codes(result.response) == [ErrorCode.NONE]
        assert not result.records

    def test_repeated_resources_are_all_refused(self, cluster: Cluster) -> None:
        one: tuple[int, str, list[Op]] = (TOPIC, "t", [("retention.ms", SET, "7")])
        other: tuple[int, str, list[Op]] = (GROUP, "t", [])
        result = cluster.decide(altering(one, other, one))
        assert codes(result.response) == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
        assert not result.records

    def test_nothing_asked(self, cluster: Cluster) -> None:
        assert codes(cluster.send(altering((TOPIC, "t", []), (TOPIC, "none", [])))) == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
        assert codes(cluster.send(altering())) == []

    def test_a_cluster_wide_setting_counts_at_once(self, cluster: Cluster) -> None:
        cluster.send(altering((BROKER, "", [("log.retention.ms", SET, "12345")])))
        configs = {row.name: row.value for row in cluster.send(create(topic("fresh", 1, 1))).topics[0].configs}
        assert configs["retention.ms"] == "12345"

    def test_too_much_in_one_request(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tidelog.controller.configs.RECORDS_MAX", 5)
        ops: list[Op] = [("consumer.session.timeout.ms", SET, "50000")]
        result = cluster.decide(altering(*((GROUP, f"g{number}", ops) for number in range(6))))
        assert set(codes(result.response)) == {ErrorCode.POLICY_VIOLATION}
        assert not result.records

    def test_the_work_is_sliced(self, cluster: Cluster) -> None:
        assert count_turns(cluster.controller.handle(0, altering(*((GROUP, str(n), []) for n in range(100))))) == 10


REFUSALS: list[tuple[int, str, list[Op], ErrorCode]] = [
    (TOPIC, "", [], ErrorCode.INVALID_REQUEST),
    (TOPIC, "a b", [], ErrorCode.INVALID_TOPIC_EXCEPTION),
    (TOPIC, "none", [("flush.ms", SET, "1")], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    # Values are checked before the topic, as in Kafka.
    (TOPIC, "none", [("flush.ms", SET, "x")], ErrorCode.INVALID_CONFIG),
    (TOPIC, "t", [("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
    (TOPIC, "t", [("no.such", APPEND, "1")], ErrorCode.INVALID_CONFIG),
    (TOPIC, "t", [("flush.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
    (TOPIC, "t", [("flush.ms", SUBTRACT, "1")], ErrorCode.INVALID_CONFIG),
    (TOPIC, "t", [("cleanup.policy", APPEND, "shred")], ErrorCode.INVALID_CONFIG),
    (
        TOPIC,
        "t",
        [("min.compaction.lag.ms", SET, str(2**63 - 1)), ("max.compaction.lag.ms", SET, "1")],
        ErrorCode.INVALID_CONFIG,
    ),
    (TOPIC, "t", [("flush.ms", SET, None)], ErrorCode.INVALID_REQUEST),
    (TOPIC, "t", [("flush.ms", SET, "1"), ("flush.ms", DELETE, None)], ErrorCode.INVALID_REQUEST),
    (TOPIC, "t", [("flush.ms", 4, "1")], ErrorCode.INVALID_REQUEST),
    (TOPIC, "t", [("flush.ms", -1, "1")], ErrorCode.INVALID_REQUEST),
    (TOPIC, "t", [("leader.replication.throttled.replicas", SET, "0:1," * 8191 + "0:1234")], ErrorCode.INVALID_CONFIG),
    (BROKER, "x", [], ErrorCode.INVALID_REQUEST),
    (BROKER, "-1", [], ErrorCode.INVALID_REQUEST),
    (BROKER, "+1", [], ErrorCode.INVALID_REQUEST),
    (BROKER, "01", [], ErrorCode.INVALID_REQUEST),
    (BROKER, "1" * 5000, [], ErrorCode.INVALID_REQUEST),
    (BROKER, "9", [], ErrorCode.BROKER_ID_NOT_REGISTERED),
    (BROKER, "1", [("no.such", SET, "1")], ErrorCode.INVALID_REQUEST),
    (BROKER, "1", [("node.id", SET, "1")], ErrorCode.INVALID_REQUEST),
    (BROKER, "1", [("log.retention.ms", SET, "x")], ErrorCode.INVALID_REQUEST),
    (BROKER, "", [("advertised.listeners", SET, "PLAINTEXT://h:1")], ErrorCode.INVALID_REQUEST),
    (GROUP, "", [], ErrorCode.INVALID_REQUEST),
    (GROUP, "g", [("no.such", SET, "1")], ErrorCode.INVALID_CONFIG),
    (GROUP, "g", [("consumer.session.timeout.ms", SET, "1")], ErrorCode.INVALID_CONFIG),
    (METRICS, "", [], ErrorCode.INVALID_REQUEST),
    (METRICS, "m", [("no.such", SET, "1")], ErrorCode.INVALID_REQUEST),
    (METRICS, "m", [("interval.ms", SET, "99")], ErrorCode.INVALID_REQUEST),
    (METRICS, "m", [("interval.ms", SET, "often")], ErrorCode.INVALID_CONFIG),
    (METRICS, "m", [("match", SET, "client_id=[")], ErrorCode.INVALID_CONFIG),
    (LOGGER, "1", [("root", SET, "INFO")], ErrorCode.INVALID_REQUEST),
    (0, "x", [], ErrorCode.INVALID_REQUEST),
    (1, "x", [], ErrorCode.INVALID_REQUEST),
    (127, "x", [], ErrorCode.INVALID_REQUEST),
]


@pytest.mark.parametrize(("kind", "name", "ops", "code"), REFUSALS, ids=lambda value: str(value)[:60])
def test_refusals(kind: int, name: str, ops: list[Op], code: ErrorCode, cluster: Cluster) -> None:
    result = cluster.decide(altering((kind, name, ops)))
    row = result.response.responses[0]
    assert (row.error_code, row.resource_type, row.resource_name) == (code, kind, name)
    assert row.error_message
    assert len(row.error_message) < 1000
    assert not result.records


def test_more_settings_than_a_resource_could_have_are_refused_unread(cluster: Cluster) -> None:
    many = [(f"no.such.{number}", "1") for number in range(SETTINGS_MAX + 1)]
    altered = cluster.decide(altering((TOPIC, "t", [(name, SET, value) for name, value in many])))
    replaced = cluster.decide(replacing(TOPIC, "t", *many))
    for row in (altered.response.responses[0], replaced.response.responses[0]):
        assert row.error_code == ErrorCode.INVALID_CONFIG
        assert str(SETTINGS_MAX) in row.error_message
        assert "no.such" not in row.error_message


class TestWhole:
    def test_what_is_not_named_is_taken_back(self, cluster: Cluster) -> None:
        result = cluster.decide(replacing(TOPIC, "t", ("flush.ms", "5"), ("retention.ms", "9")))
        assert codes(result.response) == [ErrorCode.NONE]
        assert encode(result.response, 2)
        assert [(message.name, message.value) for message, _ in result.records] == [
            ("retention.ms", "9"),
            ("cleanup.policy", None),
        ]
        assert stored(cluster, TOPIC, "t") == {"flush.ms": "5", "retention.ms": "9"}

    def test_validate_only(self, cluster: Cluster) -> None:
        result = cluster.decide(replacing(TOPIC, "t", validate_only=True))
        assert codes(result.response) == [ErrorCode.NONE]
        assert not result.records

    @pytest.mark.parametrize(
        ("kind", "name", "configs", "code"),
        [
            (TOPIC, "t", [("flush.ms", None)], ErrorCode.INVALID_REQUEST),
            (TOPIC, "t", [("flush.ms", "1"), ("flush.ms", "2")], ErrorCode.INVALID_REQUEST),
            (TOPIC, "t", [("flush.ms", "x")], ErrorCode.INVALID_CONFIG),
            (TOPIC, "none", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (BROKER, "1", [("node.id", "1")], ErrorCode.INVALID_REQUEST),
            (LOGGER, "1", [], ErrorCode.INVALID_REQUEST),
        ],
    )
    def test_refusals(
        self, kind: int, name: str, configs: list[tuple[str, str | None]], code: ErrorCode, cluster: Cluster
    ) -> None:
        result = cluster.decide(replacing(kind, name, *configs))
        assert codes(result.response) == [code]
        assert not result.records


class TestMinIsrWithEligibleLeaders:
    MIN_ISR = "min.insync.replicas"

    def test_a_topics_own_clears_its_eligible_leaders(self, cluster: Cluster) -> None:
        result = cluster.decide(altering((TOPIC, "t", [(self.MIN_ISR, SET, "1")])))
        assert [message for message, _ in result.records][1:] == [ClearElrRecord(topic_name="t")]

    def test_the_clusters_clears_all(self, cluster: Cluster) -> None:
        result = cluster.decide(altering((BROKER, "", [(self.MIN_ISR, SET, "2")])))
        assert [message for message, _ in result.records][1:] == [ClearElrRecord(topic_name="")]

    def test_really_cleared(self) -> None:
        cluster = Cluster().start(1, 2)
        cluster.assign("t", [1, 2], min_insync_replicas="2")
        cluster.assign("u", [1, 2], min_insync_replicas="2")
        cluster.heartbeat(2, want_fence=True)
        assert cluster.partition("t").elr == (2,)
        cluster.send(altering((TOPIC, "t", [(self.MIN_ISR, SET, "1")])))
        assert (cluster.partition("t").elr, cluster.partition("u").elr) == ((), (2,))
        cluster.send(altering((BROKER, "", [(self.MIN_ISR, SET, "2")])))
        assert cluster.partition("u").elr == ()

    @pytest.mark.parametrize("op", [SET, DELETE])
    def test_a_brokers_own_is_refused(self, cluster: Cluster, op: int) -> None:
        value = "2" if op == SET else None
        assert codes(cluster.send(altering((BROKER, "1", [(self.MIN_ISR, op, value)])))) == [ErrorCode.INVALID_CONFIG]

    def test_the_clusters_must_stay(self, cluster: Cluster) -> None:
        removing = altering((BROKER, "", [(self.MIN_ISR, DELETE, None)]))
        assert codes(cluster.send(removing)) == [ErrorCode.INVALID_CONFIG]
        assert codes(cluster.send(replacing(BROKER, ""))) == [ErrorCode.INVALID_CONFIG]

    def test_without_them_all_of_it_goes(self) -> None:
        cluster = Cluster(chosen=NO_ELR).start(1)
        for resource in ("1", ""):
            assert codes(cluster.send(altering((BROKER, resource, [(self.MIN_ISR, SET, "2")])))) == [ErrorCode.NONE]
            assert codes(cluster.send(altering((BROKER, resource, [(self.MIN_ISR, DELETE, None)])))) == [ErrorCode.NONE]
        assert not any(isinstance(message, ClearElrRecord) for message, _ in cluster.log)


class TestCordonedDirectories:
    def cordoning(self, *directories: str) -> Any:
        return altering((BROKER, "1", [("cordoned.log.dirs", SET, ",".join(directories))]))

    DIRECTORIES = "/a,/b,/c"

    def test_a_broker_has_judged_what_it_forwards(self) -> None:
        cluster = Cluster(log_dirs=self.DIRECTORIES).start(1)
        assert codes(cluster.send(self.cordoning("/a", "/b"))) == [ErrorCode.NONE]

    def test_straight_at_the_controller_entries_can_only_go(self) -> None:
        cluster = Cluster(log_dirs=self.DIRECTORIES).start(1)
        cluster.send(self.cordoning("/a", "/b"))
        for directories, code in ((["/c"], ErrorCode.INVALID_CONFIG), (["/b"], ErrorCode.NONE), ([], ErrorCode.NONE)):
            assert codes(cluster.send(self.cordoning(*directories), is_forwarded=False)) == [code]

    def test_older_metadata_has_no_place_for_them(self) -> None:
        assert codes(Cluster(29, log_dirs=self.DIRECTORIES).start(1).send(self.cordoning("/a"))) == [
            ErrorCode.INVALID_CONFIG
        ]
