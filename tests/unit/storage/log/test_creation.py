"""Many logs are created by the helpers of the file system: in order, a few dozen at a time, whatever comes in
between."""

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, contents

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import DiskFull, IoError, StorageFault, TooManyOpenFiles
from tidelog.ports.files import OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.creation import UNDER_WAY_MAX
from tidelog.storage.log.log import Log

A, B = "/a/logs", "/b/logs"
NEW_ID = Uuid(bytes(range(1, 17)))
MANY = [TopicPartition("many", index) for index in range(3 * UNDER_WAY_MAX)]


def broker(seed: int = 1, *paths: str) -> Broker:
    clock = SimClock()
    fs = SimFileSystem(clock, seed, {"/a": DiskSettings(), "/b": DiskSettings()})
    node = Broker(fs, clock, paths or (A,)).start()
    fs.forbids_waits = True
    return node


def names(node: Broker, path: str = A) -> list[str]:
    return [name for name in node.fs.list_directory(path) if name.startswith(("many-", "t-"))]


def work_off(node: Broker) -> None:
    while node.logs.work(node.now):
        pass


def turn(node: Broker) -> None:
    node.clock.advance(1)
    node.logs.complete(node.fs.completions(), node.now)
    work_off(node)


def test_the_loop_touches_no_file_of_a_new_log() -> None:
    node = broker()
    creation = node.logs.begin_create(dict.fromkeys(MANY, TOPIC_ID), node.now)
    work_off(node)
    assert names(node) == []
    assert creation.outcomes == {}
    node.settle()
    assert creation.is_done
    assert list(creation.outcomes) == MANY
    assert sorted(names(node)) == sorted(f"many-{topic_partition.partition}" for topic_partition in MANY)


def test_no_more_are_under_way_than_a_turn_takes_in_and_the_first_come_first() -> None:
    node = broker()
    creation = node.logs.begin_create(dict.fromkeys(MANY, TOPIC_ID), node.now)
    other = node.logs.begin_create({T0: TOPIC_ID}, node.now)
    work_off(node)
    directory = node.logs.directories[A]
    assert len(directory.being_made) == UNDER_WAY_MAX
    while not creation.is_done:
        turn(node)
        assert len(directory.being_made) <= UNDER_WAY_MAX
        assert list(creation.outcomes) == MANY[: len(creation.outcomes)]
        if len(creation.outcomes) > UNDER_WAY_MAX:
            assert T0 in other.outcomes, "a small topic does not wait for a large one"


def test_a_creation_that_is_extended_goes_on_in_order() -> None:
    node = broker()
    creation = node.logs.begin_create(dict.fromkeys(MANY[:5], TOPIC_ID), node.now)
    creation.extend(dict.fromkeys(MANY[5:], TOPIC_ID))
    node.settle()
    assert list(creation.outcomes) == MANY
    assert creation.is_done


def test_logs_under_way_count_for_the_emptiest_directory() -> None:
    node = broker(1, A, B)
    node.logs.begin_create(dict.fromkeys(MANY[:10], TOPIC_ID), node.now)
    node.settle()
    assert [len(each.logs) for each in node.logs.directories.values()] == [5, 5]


def test_a_log_made_off_the_loop_is_whole_and_durable_after_its_first_flush() -> None:
    for seed in range(20):
        node = broker(seed)
        node.logs.begin_create({T0: TOPIC_ID}, node.now)
        node.settle()
        node.produce([b"x"])
        node.flush()
        node.fs.lose_power()
        node.fs.forbids_waits = False
        after = Broker(node.fs, node.clock, (A,)).start()
        log = after.logs.get(T0)
        assert log is not None
        assert (log.topic_id, contents(log)) == (TOPIC_ID, [(0, b"x")])


def test_a_process_that_dies_meanwhile_leaves_what_the_next_start_makes_anew() -> None:
    found: set[tuple[str, ...]] = set()
    for seed in range(60):
        node = broker(seed)
        node.logs.begin_create({T0: TOPIC_ID}, node.now)
        node.fs.kill()
        if names(node):
            found.add(tuple(node.fs.list_directory(f"{A}/t-0")))
        node.fs.forbids_waits = False
        after = Broker(node.fs, node.clock, (A,)).start()
        assert not after.logs.directories[A].corrupt
        creation = after.logs.begin_create({T0: TOPIC_ID}, after.now)
        after.settle()
        log = creation.outcomes[T0]
        assert isinstance(log, Log)
        assert log.topic_id == TOPIC_ID
        assert not after.logs.failures
    assert found == {(), ("partition.metadata",), (f"{0:020d}.log", "partition.metadata")}, "each stage was met"


@pytest.mark.parametrize("fault", [DiskFull, TooManyOpenFiles])
@pytest.mark.parametrize(("op", "skip"), [(Op.NAMES, 0), (Op.OPEN, 0), (Op.OPEN, 1), (Op.WRITE, 0)])
def test_a_shortage_costs_the_one_log_and_leaves_nothing(fault: type[StorageFault], op: Op, skip: int) -> None:
    node = broker()
    node.fs.disk("/a").faults.fail(op, f"{A}/many-1", fault=fault, skip=skip)
    creation = node.logs.begin_create(dict.fromkeys(MANY[:3], TOPIC_ID), node.now)
    node.settle()
    codes = [isinstance(each, Log) for each in creation.outcomes.values()]
    assert codes == [True, False, True]
    assert creation.outcomes[MANY[1]] is ErrorCode.KAFKA_STORAGE_ERROR
    assert names(node) == ["many-0", "many-2"]
    assert node.logs.directories[A].is_online
    assert len(node.logs.take_shortages()) == 1
    again = node.logs.begin_create({MANY[1]: TOPIC_ID}, node.now)
    node.settle()
    assert isinstance(again.outcomes[MANY[1]], Log)


def test_what_an_earlier_try_left_is_made_anew_and_records_are_not_touched() -> None:
    node = broker()
    for index in range(2):
        node.fs.make_directory(f"{A}/many-{index}")
        node.fs.open(f"{A}/many-{index}/partition.metadata", OpenMode.CREATE).close()
    file = node.fs.open(f"{A}/many-1/{0:020d}.log", OpenMode.CREATE)
    file.write_at(0, [b"records"])
    creation = node.logs.begin_create(dict.fromkeys(MANY[:3], TOPIC_ID), node.now)
    node.settle()
    log = creation.outcomes[MANY[0]]
    assert isinstance(log, Log)
    assert log.topic_id == TOPIC_ID
    assert creation.outcomes[MANY[1]] is ErrorCode.KAFKA_STORAGE_ERROR
    assert file.read_at(0, 10) == b"records"
    assert isinstance(creation.outcomes[MANY[2]], Log)


def test_a_bad_disk_takes_its_directory_offline_and_what_is_under_way_there_with_it() -> None:
    node = broker(1, A, B)
    node.fs.disk("/a").faults.fail(Op.OPEN, f"{A}/many-0", fault=IoError)
    creation = node.logs.begin_create(dict.fromkeys(MANY[:6], TOPIC_ID), node.now)
    work_off(node)
    begun = dict(node.logs.directories[A].being_made)
    assert len(begun) == 3
    node.settle()
    assert [each.path for each in node.logs.failures] == [A]
    assert creation.is_done
    assert {topic_partition for topic_partition, each in creation.outcomes.items() if not isinstance(each, Log)} == set(
        begun
    )
    assert node.logs.directories[A].logs == {}


def test_two_who_want_the_same_name_do_not_meet_in_its_directory() -> None:
    node = broker()
    first = node.logs.begin_create({T0: TOPIC_ID}, node.now)
    second = node.logs.begin_create({T0: TOPIC_ID}, node.now)
    third = node.logs.begin_create({T0: NEW_ID}, node.now)
    assert node.logs.create(T0, TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR, "not while a helper is at it"
    node.settle()
    log = node.logs.get(T0)
    assert (first.outcomes[T0], second.outcomes[T0]) == (log, log)
    assert third.outcomes[T0] is ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_failed_making_is_not_the_fault_of_who_waits_for_it() -> None:
    node = broker()
    node.fs.disk("/a").faults.fail(Op.OPEN, f"{A}/t-0", fault=DiskFull)
    first = node.logs.begin_create({T0: TOPIC_ID}, node.now)
    second = node.logs.begin_create({T0: NEW_ID}, node.now)
    node.settle()
    assert first.outcomes[T0] is ErrorCode.KAFKA_STORAGE_ERROR
    log = second.outcomes[T0]
    assert isinstance(log, Log)
    assert log.topic_id == NEW_ID


def test_a_directory_that_is_asked_for_meanwhile_gets_the_log() -> None:
    node = broker(1, A, B)
    creation = node.logs.begin_create({T0: TOPIC_ID}, node.now)
    assert node.logs.alter_directory(T0, B, "1" * 32) is ErrorCode.REPLICA_NOT_AVAILABLE
    node.settle()
    log = creation.outcomes[T0]
    assert isinstance(log, Log)
    assert log.directory == f"{B}/t-0"
    assert names(node, A) == []
