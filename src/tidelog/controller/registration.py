"""BrokerRegistration and UnregisterBroker.

A registration is an incarnation of a broker with an epoch: the offset of its record, so later ones are higher, and a
broker that has read that far has read its own registration and all that was decided before it. While a broker is heard
of, no other incarnation gets its id. When one does, the old one's places in ISRs are given up first, and how depends on
whether it went away cleanly.
"""

from tidelog.controller.fencing import clean_up_after, unregister
from tidelog.controller.results import Record, Result, Steps
from tidelog.controller.state import ControllerState
from tidelog.metadata.directories import is_reserved
from tidelog.metadata.feature_levels import KRAFT_VERSION, METADATA_VERSION
from tidelog.metadata.nodes import Broker
from tidelog.metadata.record_versions import record_version
from tidelog.metadata.records.brokers import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid, format_uuid
from tidelog.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse
from tidelog.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

_SECURITY_PROTOCOLS = (0, 1, 2, 3)


def register_broker(state: ControllerState, request: BrokerRegistrationRequest, now_ms: int) -> Steps:
    before = state.metadata.brokers.get(request.broker_id)
    try:
        _check_identity(state, request, before, now_ms)
        _check_directories(state, request)
        _check_features(state, request)
    except ApiError as error:
        return Result([], BrokerRegistrationResponse(throttle_time_ms=0, error_code=error.code))
    records: list[Record] = []
    record = _registration(request, with_directories=state.directories_supported)
    if before is not None and before.incarnation_id == request.incarnation_id:
        # The same incarnation registers again, with other facts about itself.
        record.broker_epoch, record.fenced = before.epoch, before.fenced
        record.in_controlled_shutdown = before.in_controlled_shutdown
    else:
        is_clean = before is not None and before.epoch == request.previous_broker_epoch
        yield from clean_up_after(state, request.broker_id, is_clean, records)
        state.sessions.end(request.broker_id)
        record.broker_epoch = state.end_offset() + len(records)
    # The last record: if the controller dies before it is written, the next registration does all of this again.
    records.append((record, record_version(RegisterBrokerRecord, state.metadata.metadata_version)))
    response = BrokerRegistrationResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, broker_epoch=record.broker_epoch
    )
    return Result(records, response, is_atomic=False)


def _check_identity(
    state: ControllerState, request: BrokerRegistrationRequest, before: Broker | None, now_ms: int
) -> None:
    if request.cluster_id != state.cluster_id:
        raise ApiError(
            ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {state.cluster_id}, not {request.cluster_id}"
        )
    is_other = before is not None and before.incarnation_id != request.incarnation_id
    if before is not None and is_other and _is_heard_of(state, before, now_ms):
        raise ApiError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"another broker {before.id} is alive, or was just now")
    if request.is_migrating_zk_broker:
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, "brokers of a ZooKeeper cluster cannot be taken in")
    if request.broker_id < 0:
        raise ApiError(ErrorCode.INVALID_REGISTRATION, "broker ids start at 0")


def _is_heard_of(state: ControllerState, broker: Broker, now_ms: int) -> bool:
    """Tell whether the broker lives, as far as is known. A new controller presumes that registered brokers do. Of the
    one with its own node id it knows better: that was an earlier process on this node, which would otherwise have to
    sit out its own session after a crash."""
    session = state.sessions.get(broker.id, broker.epoch)
    if session is not None and session.is_presumed and broker.id == state.node_id:
        return False
    return state.sessions.is_valid(broker.id, broker.epoch, now_ms)


def _check_directories(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    if not state.directories_supported:
        return
    if not request.log_dirs:
        raise _invalid("it names no log directory")
    if any(is_reserved(Uuid(each)) for each in request.log_dirs):
        raise _invalid("it names a log directory by a reserved id")
    if len(dict.fromkeys(request.log_dirs)) != len(request.log_dirs):
        raise _invalid("it names a log directory twice")
    for broker in state.metadata.brokers.values():
        shared = [each for each in request.log_dirs if broker.id != request.broker_id and each in broker.log_dirs]
        if shared:
            raise _invalid(f"log directory {format_uuid(Uuid(shared[0]))} belongs to broker {broker.id}")


def _check_features(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    """Check that the broker supports what the cluster has finalized; of a feature that it does not mention it supports
    level 0."""
    if any(each.security_protocol not in _SECURITY_PROTOCOLS for each in request.listeners):
        raise _invalid("it has a listener of an unknown security protocol")
    finalized = {**dict(state.metadata.features.items()), KRAFT_VERSION: state.kraft_version}
    offered = {each.name: (each.min_supported_version, each.max_supported_version) for each in request.features}
    for name in dict.fromkeys((*offered, *finalized)):
        level = finalized.get(name, 0)
        if name == METADATA_VERSION and name not in offered:
            raise _invalid(f"it does not say which {METADATA_VERSION} it supports")
        lowest, highest = offered.get(name, (0, 0))
        if not lowest <= level <= highest:
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"{name} is at {level}; the broker has {lowest} to {highest}")


def _registration(request: BrokerRegistrationRequest, *, with_directories: bool) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=-1,
        end_points=[
            BrokerEndpoint(name=each.name, host=each.host, port=each.port, security_protocol=each.security_protocol)
            for each in request.listeners
        ],
        features=[
            BrokerFeature(
                name=each.name,
                min_supported_version=each.min_supported_version,
                max_supported_version=each.max_supported_version,
            )
            for each in request.features
        ],
        rack=request.rack,
        log_dirs=list(request.log_dirs) if with_directories else [],
    )


def unregister_broker(state: ControllerState, request: UnregisterBrokerRequest) -> Steps:
    broker = state.metadata.brokers.get(request.broker_id)
    if broker is None:
        message = f"broker {request.broker_id} is not registered"
        code = ErrorCode.BROKER_ID_NOT_REGISTERED
        return Result([], UnregisterBrokerResponse(throttle_time_ms=0, error_code=code, error_message=message))
    records: list[Record] = []
    yield from unregister(state, broker, records)
    response = UnregisterBrokerResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None)
    return Result(records, response, is_atomic=False)


def _invalid(reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REGISTRATION, f"this registration will not do: {reason}")
