"""What a broker is made of, as its handlers see it: the image, the partitions it hosts, who is connected.

Lookups that every request makes are a dict lookup each. `generation` counts what makes remembered answers wrong: it
moves with the metadata (see `produce_path`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tidelog.config import BrokerConfig, TopicConfig
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.topics import Partition as PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.clock import Clock
from tidelog.ports.entropy import Entropy
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion, Ticket
from tidelog.ports.network import Accepted, Network
from tidelog.ports.paths import parent_of
from tidelog.protocol.api import ApiKey, ServedRequests
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.messages.api_versions import ApiVersion
from tidelog.protocol.messages.registry import APIS, Listener, requests_of
from tidelog.server.cluster.advertised import Advertised
from tidelog.server.cluster.internal_topics import InternalTopics
from tidelog.server.coordination.coordinators import Coordinators
from tidelog.server.fetch.sessions import FetchSessions
from tidelog.server.handlers.api_versions import advertised_versions
from tidelog.server.hosting.hosted_partitions import Hosted
from tidelog.server.hosting.partition import Partition
from tidelog.server.produce.preparations import Preparations
from tidelog.server.requests.connection import ClientConnection
from tidelog.server.requests.connections import Connections
from tidelog.server.requests.dispatch import Dispatch
from tidelog.server.requests.handler import Handler
from tidelog.server.requests.limits import Limits, limits_of
from tidelog.server.requests.purgatory import Purgatory
from tidelog.server.requests.request_memory import RequestMemory
from tidelog.server.requests.request_metrics import Histogram
from tidelog.server.requests.sliced_requests import SlicedRequests
from tidelog.server.requests.turn import Turn
from tidelog.server.transactions.markers_to_send import Transactions
from tidelog.server.transactions.producer_ids import ProducerIds
from tidelog.storage.append.outcome import Refused
from tidelog.storage.directories.logs import Logs

if TYPE_CHECKING:
    from tidelog.controller.controller import Controller
    from tidelog.server.cluster.registration import Registration
    from tidelog.server.events import Events
    from tidelog.server.metadata_log.controller_machine import MetadataMachine
    from tidelog.server.metadata_log.quorum import MetadataQuorum


BROKER: Listener = "broker"
CONTROLLER: Listener = "controller"
LISTENER_KINDS = (BROKER, CONTROLLER)


# A controller's listener serves Fetch of the metadata log, which comes with the second voter.
NOT_FOR_CONTROLLERS = frozenset({ApiKey.FETCH})


def _serves(api_key: int, listener: Listener) -> bool:
    is_left_out = listener == CONTROLLER and api_key in NOT_FOR_CONTROLLERS
    return listener in APIS[api_key].listeners and not is_left_out


class Leader(NamedTuple):
    node_id: int
    leader_epoch: int


class NodeAddress(NamedTuple):
    host: str
    port: int
    rack: str | None


class WarmWaiter(Protocol):
    def warmed(self, ticket: Ticket) -> None: ...


class Broker:
    def __init__(
        self,
        config: BrokerConfig,
        node_id: int,
        cluster_id: str,
        clock: Clock,
        entropy: Entropy,
        network: Network,
        logs: Logs,
        quorum: "MetadataQuorum",
        controller: "MetadataMachine[Controller]",
        handlers: Mapping[int, Handler],
        events: "Events",
        image: MetadataImage,
        advertised: Advertised,
    ) -> None:
        self.config = config
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.clock = clock
        self.entropy = entropy
        self.network = network
        self.logs = logs
        self.quorum = quorum
        self.controller = controller
        self.events = events
        self.image = image
        self.generation = 0
        self.limits: Limits = limits_of(config)
        queued_max = self.limits.queued_bytes_max
        self.request_memory = RequestMemory(queued_max) if queued_max > 0 else None
        self.turn = Turn(clock, logs)
        self.purgatory = Purgatory()
        self.fetch_sessions = FetchSessions(self.limits.fetch_sessions_max)
        self.request_metrics = self.turn.request_metrics
        self.flush_times = Histogram()
        self._served = {
            listener: ServedRequests(requests_of({key: None for key in handlers if _serves(key, listener)}))
            for listener in LISTENER_KINDS
        }
        self.dispatch = Dispatch(self, handlers)
        self.slices = SlicedRequests(self)
        self.connections = Connections(self)
        self.hosted = Hosted(self)
        self.advertised = advertised
        self.producer_ids = ProducerIds(self)
        self.transactions = Transactions(self)
        self.preparations = Preparations(self)
        self.internal_topics = InternalTopics(self)
        self.coordinators = Coordinators(self)
        self.registration: Registration | None = None  # until it has begun
        self.is_closing = False  # the logs: nothing is appended for clients any more
        self._warming: dict[Ticket, WarmWaiter] = {}

    # Connections

    def accept(self, accepted: Accepted) -> ClientConnection:
        return self.connections.accept(accepted)

    def connection_closed(self, connection: ClientConnection, reason: str) -> None:
        self.connections.closed(connection, reason)

    def protocol_error(self, connection: ClientConnection, error: ProtocolError) -> None:
        """The stream is not trusted any more; nobody else notices."""
        self.events.protocol_error(connection, error)
        self.connections.close(connection)

    def served_on(self, listener: str) -> ServedRequests:
        """What a listener serves: clients' requests, or those to a controller."""
        return self._served[CONTROLLER if self.is_controller_listener(listener) else BROKER]

    def is_controller_listener(self, listener: str) -> bool:
        return listener in self.config.listener_plan.controller_names

    # Others

    def ask_controller(self, request: object, reply: Callable[[Any], None]) -> None:
        self.turn.is_eventful = True
        self.controller.submit(self.turn.monotonic_ms, request, reply)

    def controller_id(self) -> int:
        """Clients are told a broker: any broker passes on what is the controller's to answer."""
        return self.node_id

    def api_versions(self, served: ServedRequests) -> list[ApiVersion]:
        return advertised_versions(list(served.requests))

    def topic_config(self, name: str) -> TopicConfig:
        overrides = self.image.configs.get(ConfigResource(ResourceType.TOPIC, name))
        return self.config.topic_config(overrides or {})

    def reconfigure(self, config: BrokerConfig) -> None:
        """The dynamic settings have changed: limits, and the defaults of every topic."""
        self.config = config
        self.limits = limits_of(config)
        self.hosted.reconfigure_topics(self.image.topics.by_name)
        self.coordinators.reconfigured()

    @property
    def broker_epoch(self) -> int:
        return -1 if self.registration is None else self.registration.broker_epoch

    def storage_fault(self, fault: StorageFault) -> None:
        """Met by a read: its log directory goes offline, unless it passes by itself."""
        for path in self.logs.directories:
            if fault.path.startswith(f"{path}/"):
                self.logs.report(path, fault)
        for failed in self.logs.failures:
            self.hosted.fail(failed)

    def append_fault(self, partition: Partition, fault: StorageFault) -> Refused:
        """The disk failed while a batch was given its place. The partition itself hears of its directory with all
        others, in the next turn: whoever appends may be in the middle of something."""
        self.logs.report(parent_of(partition.log.directory), fault)
        return Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(fault))

    # Partitions

    def has_partition(self, topic_partition: TopicPartition) -> bool:
        """Whether the metadata know it, wherever it is."""
        return self._image_of(topic_partition) is not None

    def partition_of(self, topic_partition: TopicPartition) -> Partition | None:
        return self.hosted.by_topic_partition.get(topic_partition)

    def leader_of(self, topic_partition: TopicPartition) -> Partition | ErrorCode:
        """The partition, if this broker leads it."""
        found = self.hosted.by_topic_partition.get(topic_partition)
        if found is not None and found.is_leader and found.is_online:
            return found
        return self._why_not(
            topic_partition, self._image_of(topic_partition), found, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )

    def leader_of_id(self, topic_id: Uuid, index: int) -> Partition | ErrorCode:
        """By id alone: a topic that was made anew under the same name is another topic."""
        found = self.hosted.by_id.get((topic_id, index))
        if found is not None and found.is_leader and found.is_online:
            return found
        is_known = topic_id in self.image.topics.by_id
        image = self.image.topics.partition(topic_id, index)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_known else ErrorCode.UNKNOWN_TOPIC_ID
        return self._why_not(TopicPartition(self.topic_name(topic_id) or "", index), image, found, unknown)

    def _why_not(
        self, topic_partition: TopicPartition, image: PartitionImage | None, found: Partition | None, unknown: ErrorCode
    ) -> ErrorCode:
        if image is None:
            return unknown
        if topic_partition in self.hosted.refused or (found is not None and not found.is_online):
            return ErrorCode.KAFKA_STORAGE_ERROR  # ours, but its disk failed or its log is set aside
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _image_of(self, topic_partition: TopicPartition) -> PartitionImage | None:
        topic = self.image.topics.by_name.get(topic_partition.topic)
        return None if topic is None else topic.partitions.get(topic_partition.partition)

    def topic_name(self, topic_id: Uuid) -> str | None:
        topic = self.image.topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    def current_leader(self, topic_partition: TopicPartition) -> Leader | None:
        image = self._image_of(topic_partition)
        return None if image is None or not image.has_leader else Leader(image.leader, image.leader_epoch)

    def endpoint_of(self, node_id: int, accepted: Accepted) -> NodeAddress | None:
        """Where a client that reached us through this listener finds a broker."""
        broker = self.image.brokers.get(node_id)
        if broker is None or broker.fenced:
            return None
        address = self.advertised.address_of(broker, accepted)
        return None if address is None else NodeAddress(address.host, address.port, broker.rack)

    # Completions of the disk

    def when_warm(self, ticket: Ticket, waiter: WarmWaiter) -> None:
        self._warming[ticket] = waiter

    def complete(self, completions: Iterable[Completion]) -> None:
        """What helper threads have finished: syncs, after which more may be acknowledged, and warmed ranges."""
        completions = list(completions)
        for log in self.logs.complete(completions, self.turn.wall_ms):
            partition = self.hosted.by_topic_partition.get(log.topic_partition)
            if partition is not None:
                partition.advance()
                self.turn.moved[partition] = None
        for took_ns in self.logs.flushes.take_times_ns():
            self.flush_times.add(took_ns)
        for completion in completions:
            waiter = self._warming.pop(completion.ticket, None)
            if waiter is not None:
                waiter.warmed(completion.ticket)
