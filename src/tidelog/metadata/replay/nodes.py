"""Replay of records about brokers and controllers."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tidelog.metadata.draft_state import DraftState
from tidelog.metadata.errors import InconsistentRecord
from tidelog.metadata.nodes import Broker, ControllerRegistration, Endpoint, VersionRange
from tidelog.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from tidelog.model.ids import Uuid


def register_broker(state: DraftState, record: RegisterBrokerRecord) -> None:
    _put_broker(
        state,
        Broker(
            record.broker_id,
            record.broker_epoch,
            record.incarnation_id,
            _endpoints(record),
            _features(record),
            record.rack,
            record.fenced,
            record.in_controlled_shutdown,
            _sorted(record.log_dirs),
            _ids(record.cordoned_log_dirs),
            record.is_migrating_zk_broker,
        ),
    )


def unregister_broker(state: DraftState, record: UnregisterBrokerRecord) -> None:
    broker = _registered(state, record, record.broker_id, record.broker_epoch)
    state.brokers = state.brokers.owned_by(state.owner)
    state.brokers.remove(broker.id)
    if state.changes is not None:
        state.changes.brokers[broker.id] = None


def fence_broker(state: DraftState, record: FenceBrokerRecord) -> None:
    _put_broker(state, replace(_registered(state, record, record.id, record.epoch), fenced=True))


def unfence_broker(state: DraftState, record: UnfenceBrokerRecord) -> None:
    _put_broker(state, replace(_registered(state, record, record.id, record.epoch), fenced=False))


def change_registration(state: DraftState, record: BrokerRegistrationChangeRecord) -> None:
    """Change a broker's registration: 1 sets, -1 unsets, 0 leaves alone; shutdown can only be set, and an empty list of
    directories changes nothing."""
    before = _registered(state, record, record.broker_id, record.broker_epoch)
    if record.fenced not in (-1, 0, 1):
        raise InconsistentRecord(record, f"{record.fenced} does not say whether the broker is fenced")
    if record.in_controlled_shutdown not in (0, 1):
        raise InconsistentRecord(record, f"{record.in_controlled_shutdown} is no change of controlled shutdown")
    cordoned = _ids(record.cordoned_log_dirs)
    after = replace(
        before,
        fenced=record.fenced == 1 if record.fenced else before.fenced,
        in_controlled_shutdown=bool(record.in_controlled_shutdown) or before.in_controlled_shutdown,
        log_dirs=_sorted(record.log_dirs) or before.log_dirs,
        cordoned_log_dirs=before.cordoned_log_dirs if cordoned is None else cordoned,
    )
    if after != before:
        _put_broker(state, after)


def register_controller(state: DraftState, record: RegisterControllerRecord) -> None:
    controller = ControllerRegistration(
        record.controller_id,
        record.incarnation_id,
        record.zk_migration_ready,
        _endpoints(record),
        _features(record),
    )
    state.controllers = state.controllers.owned_by(state.owner)
    state.controllers.put(controller.id, controller)
    if state.changes is not None:
        state.changes.controllers[controller.id] = None


def _registered(state: DraftState, record: object, broker_id: int, epoch: int) -> Broker:
    broker = state.brokers.get(broker_id)
    if broker is None:
        raise InconsistentRecord(record, f"broker {broker_id} is not registered")
    if broker.epoch != epoch:
        raise InconsistentRecord(record, f"broker {broker_id} has epoch {broker.epoch}, not {epoch}")
    return broker


def _put_broker(state: DraftState, broker: Broker) -> None:
    state.brokers = state.brokers.owned_by(state.owner)
    state.brokers.put(broker.id, broker)
    if state.changes is not None:
        state.changes.brokers[broker.id] = None


def _endpoints(record: RegisterBrokerRecord | RegisterControllerRecord) -> dict[str, Endpoint]:
    end_points: Iterable[Any] = record.end_points
    return {each.name: Endpoint(each.name, each.host, each.port, each.security_protocol) for each in end_points}


def _features(record: RegisterBrokerRecord | RegisterControllerRecord) -> dict[str, VersionRange]:
    features: Iterable[Any] = record.features
    return {each.name: VersionRange(each.min_supported_version, each.max_supported_version) for each in features}


def _sorted(directories: Iterable[Uuid]) -> tuple[Uuid, ...]:
    return tuple(sorted(directories))


def _ids(directories: Iterable[Uuid] | None) -> tuple[Uuid, ...] | None:
    return None if directories is None else tuple(directories)
