"""The first records of a new controller."""

from tests.unit.config.files import config
from tests.unit.controller.cluster import CLUSTER_ID, Cluster

from tidelog.controller.controller import Controller
from tidelog.metadata.bootstrap import bootstrap_records, initial_feature_levels
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.records.transactions import BeginTransactionRecord
from tidelog.sim.entropy import SimEntropy

BOOTSTRAP = bootstrap_records(initial_feature_levels())


def names(cluster: Cluster) -> list[str]:
    return [type(message).__name__ for message, _ in cluster.log]


def test_a_new_cluster_gets_its_first_records_in_a_transaction() -> None:
    cluster = Cluster(min_insync_replicas="2")
    assert names(cluster) == [
        "BeginTransactionRecord",
        "FeatureLevelRecord",
        "FeatureLevelRecord",
        "FeatureLevelRecord",
        "FeatureLevelRecord",
        "ConfigRecord",
        "EndTransactionRecord",
    ]
    assert cluster.metadata.metadata_version == 30
    cluster_wide = cluster.metadata.configs[ConfigResource(ResourceType.BROKER, "")]
    assert cluster_wide == {"min.insync.replicas": "2"}


def test_without_elr_and_without_transactions() -> None:
    assert names(Cluster(12)) == ["FeatureLevelRecord"]


def test_a_later_controller_writes_nothing() -> None:
    cluster = Cluster().start(1)
    result = cluster.take(cluster.fresh_replay().activate(BOOTSTRAP, 0))
    assert result.records == []


def test_a_transaction_left_open_is_aborted() -> None:
    cluster = Cluster()
    cluster.log.append((BeginTransactionRecord(name="Bootstrap records"), 0))
    cluster.failover()
    assert names(cluster)[-1] == "AbortTransactionRecord"
    cluster.start(1)


def test_bootstrap_begins_again_when_its_transaction_was_left_open() -> None:
    controller = Controller(config(), SimEntropy(1), CLUSTER_ID, lambda: 0)
    controller.replay(BeginTransactionRecord(name="Bootstrap records"))
    controller.replay(BOOTSTRAP[0].message)
    result = controller.activate(BOOTSTRAP, 0)
    kinds = [type(message).__name__ for message, _ in result.records]
    assert kinds[:2] == ["AbortTransactionRecord", "BeginTransactionRecord"]
    assert kinds[-1] == "EndTransactionRecord"
    assert not result.is_atomic
    for message, _ in result.records:
        controller.replay(message)
    assert controller.metadata.metadata_version == 30
    controller.validate_state()
