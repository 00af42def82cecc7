"""The controller as a replicated machine: `handle` decides, `replay` makes it so.

    controller = Controller(config, entropy, cluster_id, end_offset)       # then `replay` of everything committed
    result = controller.activate(bootstrap, now_ms)                        # once
    result = controller.handle(now_ms, request)                            # Result, or Steps that end in one
    for message, version in result.records: controller.replay(message)

`handle` and `step` change nothing but sessions. A failed request has no records, and says in its response what Kafka's
controller would. The next `handle` comes after the replay of what the last one decided.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.config import BrokerConfig
from tidelog.controller import following
from tidelog.controller.activation import activate
from tidelog.controller.configs import incremental_alter_configs, replace_configs
from tidelog.controller.controllers import register_controller
from tidelog.controller.directories import assign_replicas_to_dirs
from tidelog.controller.features import update_features
from tidelog.controller.heartbeats import fence_expired, heartbeat
from tidelog.controller.invariants import violations
from tidelog.controller.partitions import create_partitions
from tidelog.controller.producer_ids import allocate_producer_ids
from tidelog.controller.registration import register_broker, unregister_broker
from tidelog.controller.results import ControllerRequest, Result, Steps
from tidelog.controller.shortage import only_adds
from tidelog.controller.state import ControllerState
from tidelog.controller.topic_deletion import delete_topics
from tidelog.controller.topics import create_topics
from tidelog.metadata.image import MetadataView
from tidelog.metadata.record_framing import MetadataRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.ports.entropy import Entropy
from tidelog.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tidelog.protocol.messages.alter_configs import AlterConfigsRequest
from tidelog.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from tidelog.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_registration import BrokerRegistrationRequest
from tidelog.protocol.messages.controller_registration import ControllerRegistrationRequest
from tidelog.protocol.messages.create_partitions import CreatePartitionsRequest
from tidelog.protocol.messages.create_topics import CreateTopicsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tidelog.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tidelog.protocol.messages.update_features import UpdateFeaturesRequest


class Controller:
    def __init__(
        self,
        config: BrokerConfig,
        entropy: Entropy,
        cluster_id: str,
        end_offset: Callable[[], int],
        *,
        kraft_version: int = 0,
        quorum_node_ids: Sequence[int] = (),
        shortage: Callable[[], str | None] = lambda: None,
    ) -> None:
        """`config` is the node's own, without dynamic layers: those come from the metadata. `end_offset` returns the
        offset that the next record will get; `shortage`, why the log has room for the most necessary records only, if
        so."""
        self._shortage = shortage
        self._state = ControllerState(config, entropy, cluster_id, end_offset)
        self._state.kraft_version = kraft_version
        if quorum_node_ids:
            self._state.quorum_node_ids = tuple(quorum_node_ids)

    @property
    def metadata(self) -> MetadataView:
        """The metadata as of the last replayed record, committed or not."""
        return self._state.metadata

    def activate(self, bootstrap: Sequence[MetadataRecord], now_ms: int) -> Result:
        """Return the first records of an active controller; `bootstrap` is used when the log has none."""
        return activate(self._state, bootstrap, now_ms)

    def replay(self, message: Any) -> None:
        """Take over one record. One that does not fit is a bug, or a damaged log: MetadataError, and this node
        stops."""
        following.replay(self._state, message)

    @property
    def deadline(self) -> int | None:
        """The time at which `step` has something to do, because a broker's session ends."""
        return self._state.sessions.deadline

    def step(self, now_ms: int, _wall_ms: int = 0) -> Steps:
        """Fence one broker that was silent too long. The result has no response; look at `deadline` again after it."""
        return fence_expired(self._state, now_ms)

    def hear(self, request: Any) -> Callable[[int], None] | None:
        """Take note of a request that has arrived, and waits. For a heartbeat, return what to call, with the time, when
        it is answered; until then its sender does not count as silent."""
        message = request.message if isinstance(request, ControllerRequest) else request
        if not isinstance(message, BrokerHeartbeatRequest):
            return None
        sessions, broker_id, epoch = self._state.sessions, message.broker_id, message.broker_epoch
        sessions.owe_answer(broker_id)
        return lambda now_ms: sessions.answered(broker_id, epoch, now_ms)

    def handle(self, now_ms: int, request: Any) -> Result | Steps:
        asked = request if isinstance(request, ControllerRequest) else ControllerRequest(request)
        if only_adds(asked.message) and (reason := self._shortage()) is not None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
        return self._handle(now_ms, asked.message, asked)

    def _handle(self, now_ms: int, message: Any, request: ControllerRequest) -> Result | Steps:
        state = self._state
        match message:
            case BrokerHeartbeatRequest():
                return heartbeat(state, message, now_ms)
            case CreateTopicsRequest():
                return create_topics(state, message)
            case DeleteTopicsRequest():
                return delete_topics(state, message, request.api_version)
            case CreatePartitionsRequest():
                return create_partitions(state, message)
            case IncrementalAlterConfigsRequest():
                return incremental_alter_configs(state, message, is_forwarded=request.is_forwarded)
            case AlterConfigsRequest():
                return replace_configs(state, message, is_forwarded=request.is_forwarded)
            case AllocateProducerIdsRequest():
                return allocate_producer_ids(state, message)
            case UpdateFeaturesRequest():
                return update_features(state, message)
            case _:
                return self._handle_node(now_ms, message)

    def _handle_node(self, now_ms: int, message: Any) -> Result | Steps:
        state = self._state
        match message:
            case BrokerRegistrationRequest():
                return register_broker(state, message, now_ms)
            case UnregisterBrokerRequest():
                return unregister_broker(state, message)
            case ControllerRegistrationRequest():
                return register_controller(state, message)
            case AssignReplicasToDirsRequest():
                return assign_replicas_to_dirs(state, message)
            case _:
                raise TypeError(f"{type(message).__name__} is no request to a controller")

    def validate_state(self) -> None:
        """Raise AssertionError when what the controller keeps does not follow from the metadata, or the metadata is out
        of order. Walks over everything: for tests and simulations."""
        found = list(violations(self._state))
        assert not found, "\n".join(found)
