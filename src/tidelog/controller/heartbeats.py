"""BrokerHeartbeat: what a broker wants to be, and what it may be.

    fenced       -- wants no fence, and has read its own registration --> unfenced
    unfenced     -- wants to be fenced -------------------------------> fenced
    unfenced     -- wants to shut down, and leads nothing ------------> fenced, told to stop
    unfenced     -- wants to shut down --------------------------------> in controlled shutdown
    in shutdown  -- leads nothing, and the others know who does -------> fenced, told to stop
    fenced       -- wants to shut down --------------------------------> told to stop

A broker that is silent for its session is fenced too (`fence_expired`).
"""

from enum import Enum

from tidelog.controller.fencing import begin_shutdown, cordon, fence, take_directories_offline, unfence
from tidelog.controller.results import Record, Result, Slices, Steps
from tidelog.controller.sessions import NEVER, Session
from tidelog.controller.state import ControllerState
from tidelog.metadata.nodes import Broker
from tidelog.metadata.record_versions import CORDONED_LOG_DIRS_FROM
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse


class Standing(Enum):
    FENCED = "fenced"
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    SHUTDOWN_NOW = "shutdown now"


_FENCED = (Standing.FENCED, Standing.SHUTDOWN_NOW)


def heartbeat(state: ControllerState, request: BrokerHeartbeatRequest, now_ms: int) -> Steps:
    try:
        state.check_broker_epoch(request.broker_id, request.broker_epoch)
    except ApiError as error:
        response = BrokerHeartbeatResponse(throttle_time_ms=0, error_code=error.code, should_shut_down=False)
        return Result([], response)
    broker = state.metadata.brokers[request.broker_id]
    session = state.sessions.touch(broker.id, broker.epoch, now_ms)
    is_caught_up = request.current_metadata_offset >= broker.epoch
    before = _standing(broker, session)
    after = _next_standing(state, request, before, session, is_caught_up)
    records: list[Record] = []
    yield from _change_standing(state, broker, request, before, after, records)
    _follow_directories(state, broker, request, records)
    _update_session(state, broker, session, request, after, len(records))
    response = BrokerHeartbeatResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        is_caught_up=is_caught_up,
        is_fenced=after in _FENCED,
        should_shut_down=after is Standing.SHUTDOWN_NOW,
    )
    return Result(records, response, is_atomic=False)


def _standing(broker: Broker, session: Session) -> Standing:
    if broker.fenced:
        return Standing.FENCED
    return Standing.CONTROLLED_SHUTDOWN if session.is_shutting_down else Standing.UNFENCED


def _next_standing(
    state: ControllerState, request: BrokerHeartbeatRequest, now: Standing, session: Session, is_caught_up: bool
) -> Standing:
    leads = state.indexes.led_by.has_any(request.broker_id)
    match now:
        case Standing.FENCED if request.want_shut_down:
            return Standing.SHUTDOWN_NOW
        case Standing.FENCED:
            return Standing.UNFENCED if not request.want_fence and is_caught_up else Standing.FENCED
        case Standing.UNFENCED if request.want_shut_down:
            return Standing.CONTROLLED_SHUTDOWN if leads and not request.want_fence else Standing.SHUTDOWN_NOW
        case Standing.UNFENCED:
            return Standing.FENCED if request.want_fence else Standing.UNFENCED
        case _:
            is_known = session.shutdown_offset <= _lowest_active_offset(state)
            return Standing.SHUTDOWN_NOW if not leads and is_known else Standing.CONTROLLED_SHUTDOWN


def _lowest_active_offset(state: ControllerState) -> float:
    """The offset up to which all brokers that serve have read the metadata."""
    sessions = (
        state.sessions.get(broker.id, broker.epoch) for broker in state.metadata.brokers.values() if broker.is_active
    )
    return min((session.metadata_offset if session else NEVER for session in sessions), default=float("inf"))


def _change_standing(
    state: ControllerState,
    broker: Broker,
    request: BrokerHeartbeatRequest,
    before: Standing,
    after: Standing,
    records: list[Record],
) -> Slices[None]:
    offline = _newly_offline(state, broker, request)
    if after in _FENCED and not broker.fenced:
        yield from fence(state, broker, records)
    elif before is Standing.FENCED and after is Standing.UNFENCED:
        yield from unfence(state, broker, offline, records)
    elif after is Standing.CONTROLLED_SHUTDOWN and before is not after:
        yield from begin_shutdown(state, broker, records)
    if offline:
        has_left = not broker.fenced and after is not Standing.UNFENCED
        yield from take_directories_offline(state, broker, offline, records, has_left=has_left)


def _newly_offline(state: ControllerState, broker: Broker, request: BrokerHeartbeatRequest) -> tuple[Uuid, ...]:
    if not state.directories_supported:
        return ()
    return tuple(each for each in broker.log_dirs if each in request.offline_log_dirs)


def _follow_directories(
    state: ControllerState, broker: Broker, request: BrokerHeartbeatRequest, records: list[Record]
) -> None:
    # Null until the broker has caught up: before that it does not know its own settings.
    is_supported = state.metadata.metadata_version >= CORDONED_LOG_DIRS_FROM
    if is_supported and request.cordoned_log_dirs is not None:
        cordon(broker, [Uuid(each) for each in request.cordoned_log_dirs], records)


def _update_session(
    state: ControllerState,
    broker: Broker,
    session: Session,
    request: BrokerHeartbeatRequest,
    after: Standing,
    record_count: int,
) -> None:
    session.metadata_offset = request.current_metadata_offset
    if after in _FENCED:
        session.shutdown_offset = NEVER
    elif after is Standing.CONTROLLED_SHUTDOWN and not session.is_shutting_down:
        # A broker that has read up to this offset knows the new leaders.
        session.shutdown_offset = state.end_offset() + record_count - 1
    if after is Standing.SHUTDOWN_NOW:
        # The broker will not be heard of again, and when it is back it need not wait until its old session ends.
        state.sessions.end(broker.id)


def fence_expired(state: ControllerState, now_ms: int) -> Steps:
    """Fence at most one broker: the next one's partitions are to be led by what is left after this."""
    broker_id = state.sessions.next_expired(now_ms)
    records: list[Record] = []
    if broker_id is not None:
        broker = state.metadata.brokers.get(broker_id)
        if broker is not None and not broker.fenced:
            yield from fence(state, broker, records)
        state.sessions.end(broker_id)
    return Result(records, None, is_atomic=False)
