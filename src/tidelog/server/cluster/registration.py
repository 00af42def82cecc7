"""The broker's place in the cluster: it registers, tells from time to time that it lives, and leaves in order.

    registering -> fenced: catching up with its own registration, recovering its logs -> active -> leaving -> left

The controller is asked like any other; in a combined node it happens to be in the same process.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from tidelog.config.settings import node
from tidelog.metadata.feature_levels import FEATURES, SERVED
from tidelog.metadata.nodes import Endpoint, VersionRange
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from tidelog.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

RETRY_MS: Final = 50


class State(Enum):
    REGISTERING = "registering"
    FENCED = "fenced"
    ACTIVE = "active"
    LEAVING = "leaving"
    LEFT = "left"


class Registration:
    """This broker's membership: the state machine above, and the heartbeats that keep it up."""

    def __init__(
        self,
        broker: "Broker",
        incarnation_id: Uuid,
        endpoints: Sequence[Endpoint],
        log_dirs: Sequence[Uuid],
        previous_broker_epoch: int,
        cordoned: Callable[[], list[Uuid]],
    ) -> None:
        self._broker = broker
        self._incarnation_id = incarnation_id
        self._endpoints = endpoints
        self._log_dirs = list(log_dirs)
        self._previous_broker_epoch = previous_broker_epoch
        self._cordoned = cordoned
        self._wants_to_leave = False
        self._interval_ms = broker.config.get(node.BROKER_HEARTBEAT_INTERVAL_MS)
        self._is_waiting = False  # for the controller's answer
        self._next_ms = 0
        self.broker_epoch = -1
        self.offline_log_dirs: list[Uuid] = []
        self.is_ready = False  # our own start is done: logs are there, the image is caught up
        self.state = State.REGISTERING

    @property
    def deadline_ms(self) -> int | None:
        return None if self._is_waiting or self.state is State.LEFT else self._next_ms

    def turn(self, now_ms: int) -> None:
        """Send the registration or the next heartbeat when it is due, one request at a time."""
        if self._is_waiting or now_ms < self._next_ms or self.state is State.LEFT:
            return
        self._is_waiting = True
        self._next_ms = now_ms + self._interval_ms
        if self.state is State.REGISTERING:
            self._broker.ask_controller(self._registration(), self._registered)
        else:
            self._broker.ask_controller(self._heartbeat(), self._answered)

    def leave(self) -> None:
        """Begin a controlled shutdown: the controller moves leaders away before it lets this broker go."""
        self._wants_to_leave = True
        if self.state in (State.FENCED, State.ACTIVE):
            self.state = State.LEAVING
            self.hurry()
        elif self.state is State.REGISTERING and not self._is_waiting:
            self.state = State.LEFT

    def directory_failed(self, directory_id: Uuid) -> None:
        self.offline_log_dirs.append(directory_id)
        self.hurry()

    def hurry(self) -> None:
        """Send the next heartbeat at once: there is something to tell that should not wait."""
        self._next_ms = 0

    def _registration(self) -> BrokerRegistrationRequest:
        broker = self._broker
        return BrokerRegistrationRequest(
            broker_id=broker.node_id,
            cluster_id=broker.cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[
                Listener(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
                for each in self._endpoints
            ],
            features=self._features(),
            rack=broker.config.get(node.BROKER_RACK),
            log_dirs=self._log_dirs,
            previous_broker_epoch=self._previous_broker_epoch,
        )

    def _features(self) -> list[Feature]:
        """Return the features that this release serves, and those that the cluster has settled on before (an Apache
        broker wrote to this directory, say): their records are read and kept, even where nothing here makes use of
        them."""
        levels = dict(SERVED)
        for name, level in self._broker.image.features.items():
            if name in FEATURES and name not in SERVED:
                levels[name] = VersionRange(0, level)
        return [
            Feature(name=name, min_supported_version=each.min, max_supported_version=each.max)
            for name, each in levels.items()
        ]

    def _registered(self, answer: Any) -> None:
        self._is_waiting = False
        if isinstance(answer, BrokerRegistrationResponse) and answer.error_code == ErrorCode.NONE:
            self.broker_epoch = answer.broker_epoch
            self.state = State.LEAVING if self._wants_to_leave else State.FENCED
            self.hurry()
            return
        if self._wants_to_leave:
            self.state = State.LEFT
        self._next_ms = self._broker.turn.monotonic_ms + RETRY_MS
        code = answer.error_code if isinstance(answer, BrokerRegistrationResponse) else answer
        if code != ErrorCode.NOT_CONTROLLER:
            self._broker.events.registration_refused(code)

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self._broker.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._broker.image.provenance.offset,
            want_fence=not self.is_ready,
            want_shut_down=self.state is State.LEAVING,
            offline_log_dirs=self.offline_log_dirs,
            cordoned_log_dirs=self._cordoned() if self.is_ready else None,
        )

    def _answered(self, answer: Any) -> None:
        self._is_waiting = False
        soon_ms = self._broker.turn.monotonic_ms + RETRY_MS
        if not isinstance(answer, BrokerHeartbeatResponse):
            self._next_ms = soon_ms
            return
        if answer.error_code in (ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED):
            self.state = State.LEFT if self._wants_to_leave else State.REGISTERING
            self.hurry()
        elif answer.should_shut_down:
            self.state = State.LEFT
        elif self._wants_to_leave:
            self._next_ms = min(self._next_ms, soon_ms)
        elif answer.is_fenced:
            self.state = State.FENCED
            self._next_ms = soon_ms
        else:
            self.state = State.ACTIVE
