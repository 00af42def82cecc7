"""Replay of records about brokers and controllers."""

from typing import Any

import pytest
from tests.unit.metadata.built import broker, controller, frozen, replayed, uuid

from tidelog.metadata.directories import LOST_DIRECTORY, MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from tidelog.metadata.errors import InconsistentRecord
from tidelog.metadata.nodes import Broker, ControllerRegistration, Endpoint, VersionRange
from tidelog.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


def change(**fields: Any) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(**{"broker_id": 1, "broker_epoch": 10, **fields})


def test_a_registration_is_kept_whole() -> None:
    record = broker(rack="r1", in_controlled_shutdown=True, log_dirs=[uuid(2), uuid(1)], cordoned_log_dirs=[uuid(2)])
    assert replayed(record).brokers[1] == Broker(
        id=1,
        epoch=10,
        incarnation_id=uuid(901),
        endpoints={"PLAINTEXT": Endpoint("PLAINTEXT", "here", 9092, 0)},
        features={"metadata.version": VersionRange(7, 30)},
        rack="r1",
        fenced=True,
        in_controlled_shutdown=True,
        log_dirs=(uuid(1), uuid(2)),
        cordoned_log_dirs=(uuid(2),),
    )


def test_a_broker_registers_anew() -> None:
    draft = replayed(broker(), broker(broker_epoch=11, fenced=False))
    assert (draft.brokers[1].epoch, draft.brokers[1].fenced) == (11, False)
    assert len(draft.brokers) == 1


@pytest.mark.parametrize(
    ("fenced", "records", "after"),
    [
        (True, [change(fenced=-1)], False),
        (False, [change(fenced=1)], True),
        (True, [change(in_controlled_shutdown=1)], True),
        (False, [change(in_controlled_shutdown=1)], False),
        (True, [UnfenceBrokerRecord(id=1, epoch=10)], False),
        (False, [FenceBrokerRecord(id=1, epoch=10)], True),
    ],
)
def test_fencing_changes_only_when_named(fenced: bool, records: list[Any], after: bool) -> None:
    assert replayed(broker(fenced=fenced), *records).brokers[1].fenced is after


def test_controlled_shutdown_is_left_only_by_registering_anew() -> None:
    draft = replayed(broker(fenced=False), change(in_controlled_shutdown=1), change(fenced=0))
    assert draft.brokers[1].in_controlled_shutdown
    assert not draft.brokers[1].is_active
    draft.replay(broker(fenced=False, broker_epoch=11))
    assert draft.brokers[1].is_active


def test_directories_change_when_some_are_named() -> None:
    registered = broker(log_dirs=[uuid(1)])
    assert list(replayed(registered, change(log_dirs=[])).brokers[1].log_dirs) == [uuid(1)]
    named = change(log_dirs=[uuid(4), uuid(3)])
    assert list(replayed(registered, named).brokers[1].log_dirs) == [uuid(3), uuid(4)]


def test_no_cordoned_directories_is_not_the_same_as_unknown_ones() -> None:
    registered = broker(log_dirs=[uuid(1)])
    unknown = replayed(registered).brokers[1]
    assert (unknown.cordoned_log_dirs, unknown.has_uncordoned_log_dirs) == (None, True)
    cordoned = change(cordoned_log_dirs=[uuid(1)])
    assert not replayed(registered, cordoned).brokers[1].has_uncordoned_log_dirs
    none = replayed(registered, cordoned, change(cordoned_log_dirs=[]), change()).brokers[1]
    assert (none.cordoned_log_dirs, none.has_uncordoned_log_dirs) == ((), True)


def test_a_directory_counts_as_online() -> None:
    told = replayed(broker(log_dirs=[uuid(1)])).brokers[1]
    known = [uuid(1), uuid(2), MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY, LOST_DIRECTORY]
    assert [told.has_online_log_dir(each) for each in known] == [True, False, True, True, False]
    untold = replayed(broker()).brokers[1]
    assert [untold.has_online_log_dir(each) for each in (uuid(2), LOST_DIRECTORY)] == [True, False]


def test_an_unregistered_broker_is_gone() -> None:
    draft = replayed(broker(1), broker(2), UnregisterBrokerRecord(broker_id=1, broker_epoch=10))
    assert list(draft.brokers) == [2]


def test_a_controller_makes_itself_known() -> None:
    assert replayed(controller(3)).controllers[3] == ControllerRegistration(
        id=3,
        incarnation_id=uuid(803),
        zk_migration_ready=False,
        endpoints={"CONTROLLER": Endpoint("CONTROLLER", "there", 9093, 0)},
        features={"metadata.version": VersionRange(7, 30)},
    )


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (change(broker_id=2), "broker 2 is not registered"),
        (change(broker_epoch=9), "has epoch 10, not 9"),
        (change(fenced=2), "2 does not say"),
        (change(in_controlled_shutdown=-1), "-1 is no change"),
        (FenceBrokerRecord(id=1, epoch=11), "has epoch 10, not 11"),
        (UnfenceBrokerRecord(id=5, epoch=10), "broker 5 is not registered"),
        (UnregisterBrokerRecord(broker_id=1, broker_epoch=9), "has epoch 10, not 9"),
    ],
)
def test_a_record_that_does_not_fit_is_refused_and_changes_nothing(record: Any, complaint: str) -> None:
    draft = replayed(broker())
    before = frozen(draft)
    with pytest.raises(InconsistentRecord, match=complaint):
        draft.replay(record)
    assert frozen(draft) == before
