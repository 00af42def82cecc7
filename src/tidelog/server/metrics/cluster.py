"""Metrics of the control plane: the controller while it is active here, the metadata log, this broker's place."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.server.metrics.declaration import Family, Kind, Section, one
from tidelog.server.node.phase import Phase

if TYPE_CHECKING:
    from tidelog.server.metrics.scrape import Scrape

# As Kafka numbers a broker's states.
BROKER_STATES = {
    Phase.ELECTING: 1,  # STARTING
    Phase.LOADING: 2,  # RECOVERY
    Phase.JOINING: 2,
    Phase.RUNNING: 3,
    Phase.STOPPING: 6,  # PENDING_CONTROLLED_SHUTDOWN
    Phase.STOPPED: 7,  # SHUTTING_DOWN
}


def _is_active(scrape: "Scrape") -> bool:
    return scrape.node.control.machine.replicated.is_active


def _fenced(scrape: "Scrape") -> int:
    return sum(broker.fenced for broker in scrape.broker.image.brokers.values())


def _controller(name: str, bean: str, help_text: str, read: Callable[["Scrape"], float]) -> Family:
    """Of the active controller; of the others Kafka tells zero, and here there is none."""

    def value(scrape: "Scrape") -> float | None:
        return read(scrape) if _is_active(scrape) else None

    kafka = f"kafka.controller:type=KafkaController,name={bean}"
    return Family(f"kafka_controller_kafkacontroller_{name}", Kind.GAUGE, help_text, one(value), (), kafka)


def _raft(name: str, attribute: str, help_text: str, read: Callable[["Scrape"], float]) -> Family:
    kafka = f"kafka.server:type=raft-metrics {attribute}"
    return Family(f"kafka_server_raftmetrics_{name}", Kind.GAUGE, help_text, one(read), (), kafka)


CLUSTER_METRICS = Section(
    "Controller and metadata",
    (
        Family(
            "kafka_controller_kafkacontroller_activecontrollercount",
            Kind.GAUGE,
            "1 where the active controller is.",
            one(lambda scrape: int(_is_active(scrape))),
            (),
            "kafka.controller:type=KafkaController,name=ActiveControllerCount",
        ),
        _controller(
            "activebrokercount",
            "ActiveBrokerCount",
            "Brokers that are not fenced.",
            lambda scrape: len(scrape.broker.image.brokers) - _fenced(scrape),
        ),
        _controller("fencedbrokercount", "FencedBrokerCount", "Brokers that are fenced.", _fenced),
        _controller(
            "globaltopiccount", "GlobalTopicCount", "Topics.", lambda scrape: len(scrape.broker.image.topics.by_id)
        ),
        _controller(
            "globalpartitioncount",
            "GlobalPartitionCount",
            "Partitions.",
            lambda scrape: scrape.survey.cluster_partitions,
        ),
        _controller(
            "offlinepartitionscount",
            "OfflinePartitionsCount",
            "Partitions without a leader.",
            lambda scrape: scrape.survey.cluster_leaderless,
        ),
        _controller(
            "preferredreplicaimbalancecount",
            "PreferredReplicaImbalanceCount",
            "Partitions that another than their preferred replica leads.",
            lambda scrape: scrape.survey.cluster_unpreferred,
        ),
        Family(
            "kafka_controller_kafkacontroller_metadataerrorcount",
            Kind.GAUGE,
            "Problems of the metadata log, and bugs of the controller, since the start.",
            one(lambda scrape: scrape.node.events.metadata_errors),
            (),
            "kafka.controller:type=KafkaController,name=MetadataErrorCount",
        ),
        _raft("log_end_offset", "log-end-offset", "Where the metadata log ends.", lambda s: s.broker.quorum.end_offset),
        _raft(
            "high_watermark",
            "high-watermark",
            "To where the metadata log is committed.",
            lambda scrape: scrape.broker.quorum.high_watermark,
        ),
        _raft("current_epoch", "current-epoch", "The quorum's epoch.", lambda scrape: scrape.broker.quorum.epoch),
        _raft(
            "current_leader",
            "current-leader",
            "The quorum's leader; -1: unknown.",
            lambda scrape: -1 if scrape.broker.quorum.leader_id is None else scrape.broker.quorum.leader_id,
        ),
        Family(
            "kafka_server_brokermetadatametrics_last_applied_record_offset",
            Kind.GAUGE,
            "To where this broker follows the metadata log.",
            one(lambda scrape: scrape.broker.image.provenance.offset),
            (),
            "kafka.server:type=broker-metadata-metrics last-applied-record-offset",
        ),
        Family(
            "kafka_server_kafkaserver_brokerstate",
            Kind.GAUGE,
            "1 starting, 2 recovering its logs, 3 running, 6 leaving the cluster, 7 stopping.",
            one(lambda scrape: BROKER_STATES[scrape.node.phase]),
            (),
            "kafka.server:type=KafkaServer,name=BrokerState",
        ),
    ),
)
