"""Brokers that come, go, and lose directories: the records for each of these events.

Order matters, because the records of a large broker may be appended in several batches and the controller may die in
between. Partitions leave a broker before it is fenced or registered anew, so that whoever takes over sees the broker
as it was and finishes the work.
"""

from collections.abc import Sequence

from tidelog.controller.elections import BrokerChange, elect
from tidelog.controller.results import Record, Slices
from tidelog.controller.state import ControllerState
from tidelog.metadata.nodes import Broker
from tidelog.metadata.records.brokers import BrokerRegistrationChangeRecord, UnregisterBrokerRecord
from tidelog.metadata.topics import NO_LEADER
from tidelog.model.ids import Uuid

_FENCE, _UNFENCE, _SHUT_DOWN = 1, -1, 1
# The first version of BrokerRegistrationChangeRecord that has each field.
_V_FENCED, _V_SHUTDOWN, _V_LOG_DIRS, _V_CORDONED = 0, 1, 2, 3


def fence(state: ControllerState, broker: Broker, records: list[Record]) -> Slices[None]:
    yield from elect(state, state.indexes.in_isr.partitions(broker.id), BrokerChange(leaving=broker.id), records)
    records.append((_change(broker, fenced=_FENCE), _V_FENCED))


def unfence(state: ControllerState, broker: Broker, offline: tuple[Uuid, ...], records: list[Record]) -> Slices[None]:
    """Unfence the broker, and have it lead what waits for it. `offline` are directories that it reports as failed in
    the same request."""
    records.append((_change(broker, fenced=_UNFENCE), _V_FENCED))
    arrival = BrokerChange(arriving=broker.id, offline_directories=offline)
    yield from elect(state, state.indexes.led_by.partitions(NO_LEADER), arrival, records)


def begin_shutdown(state: ControllerState, broker: Broker, records: list[Record]) -> Slices[None]:
    if not broker.in_controlled_shutdown:
        records.append((_change(broker, in_controlled_shutdown=_SHUT_DOWN), _V_SHUTDOWN))
    yield from elect(state, state.indexes.in_isr.partitions(broker.id), BrokerChange(leaving=broker.id), records)


def clean_up_after(state: ControllerState, broker_id: int, is_clean: bool, records: list[Record]) -> Slices[None]:
    """Take an incarnation of a broker that has ended out of its ISRs. If it was not by a clean shutdown, what it had
    not flushed may be gone: with ELR it is then neither in sync nor eligible until it has caught up."""
    in_isr = state.indexes.in_isr.partitions(broker_id)
    if is_clean or not state.elr_enabled:
        yield from elect(state, in_isr, BrokerChange(leaving=broker_id), records)
    else:
        yield from elect(state, in_isr, BrokerChange(lost=broker_id), records)
        yield from elect(state, state.indexes.in_elr.partitions(broker_id), BrokerChange(lost=broker_id), records)


def unregister(state: ControllerState, broker: Broker, records: list[Record]) -> Slices[None]:
    leaving = BrokerChange(leaving=broker.id)
    yield from elect(state, state.indexes.in_isr.partitions(broker.id), leaving, records)
    yield from elect(state, state.indexes.in_elr.partitions(broker.id), leaving, records)
    records.append((UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch), 0))


def take_directories_offline(
    state: ControllerState, broker: Broker, offline: tuple[Uuid, ...], records: list[Record], *, has_left: bool
) -> Slices[None]:
    """Take `offline`, directories that were online until now, out of the registration, and their replicas out of the
    ISRs. With `has_left` the broker left its ISRs in this request already."""
    for directory in () if has_left else offline:
        partitions = state.indexes.in_directory.partitions(directory)
        yield from elect(state, partitions, BrokerChange(leaving=broker.id), records)
    online = [each for each in broker.log_dirs if each not in offline]
    records.append((_change(broker, log_dirs=online), _V_LOG_DIRS))


def cordon(broker: Broker, cordoned: Sequence[Uuid], records: list[Record]) -> None:
    before = broker.cordoned_log_dirs
    if before is None or sorted(dict.fromkeys(before)) != sorted(dict.fromkeys(cordoned)):
        records.append((_change(broker, cordoned_log_dirs=list(cordoned)), _V_CORDONED))


def _change(
    broker: Broker,
    *,
    fenced: int = 0,
    in_controlled_shutdown: int = 0,
    log_dirs: list[Uuid] | None = None,
    cordoned_log_dirs: list[Uuid] | None = None,
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs or [],
        cordoned_log_dirs=cordoned_log_dirs,
    )
