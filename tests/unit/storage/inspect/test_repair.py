"""The repair of a replica that was set aside, which removes nothing that is not in the quarantine."""

import json

import pytest
from tests.sim.broker import T0, Broker, contents, topic_config
from tests.sim.test_log_crashes import NEVER, CrashingTrace, PowerLoss

from tidelog.ports.errors import NotFound
from tidelog.ports.files import OpenMode
from tidelog.ports.paths import join
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.small_files import read_whole
from tidelog.storage.checkpoints.text import RECOVERY_POINT_CHECKPOINT, read_offsets
from tidelog.storage.inspect.damage import Damage, find_damage
from tidelog.storage.inspect.repair import NOTE, start_over, truncate

LOGS = "/disk/logs"
DIRECTORY = f"{LOGS}/t-0"
QUARANTINE = "/disk/logs-quarantine/t-0"
ELSEWHERE = "/other/quarantine/t-0"
CONFIG = topic_config(internal_segment_bytes=600)
RECORDS = 12


def machine(crash_at: int = NEVER) -> SimFileSystem:
    return SimFileSystem(SimClock(), 2, ("/disk", "/other"), trace=CrashingTrace(crash_at))


def start(fs: SimFileSystem) -> Broker:
    assert isinstance(fs.clock, SimClock)
    return Broker(fs, fs.clock, (LOGS,), CONFIG).start()


def damaged(fs: SimFileSystem, segment: int = -1, byte: int = 130) -> SimFileSystem:
    """Write records, make them durable, and flip one bit of them."""
    node = start(fs)
    for i in range(RECORDS):
        node.produce([b"%d" % i])
    node.flush()
    node.checkpoint()
    path = node.log().segments[segment].path
    fs.kill()
    fs.rot(path, [8 * byte])
    return fs


def the_damage(fs: SimFileSystem) -> Damage:
    (found,) = find_damage(fs, LOGS)
    return found


def logs_in(fs: SimFileSystem, directory: str) -> dict[str, bytes]:
    return {name: read_whole(fs, join(directory, name)) for name in fs.list_directory(directory) if ".log" in name}


def test_nothing_is_found_in_a_good_directory_nor_in_a_torn_end() -> None:
    fs = machine()
    node = start(fs)
    for i in range(RECORDS):
        node.produce([b"%d" % i])
    node.flush()
    node.checkpoint()
    node.produce([b"torn"])
    path = node.log().segments.active.path
    fs.kill()
    file = fs.open(path, OpenMode.WRITE)
    file.truncate(file.size() - 3)
    file.close()
    assert list(find_damage(fs, LOGS)) == []


def test_the_broker_names_the_command_and_the_command_what_the_broker_found() -> None:
    fs = damaged(machine())
    node = start(fs)
    assert list(node.logs.directories[LOGS].corrupt) == [T0]
    (problem,) = (each for each in node.progress.problems if "set aside" in each)
    assert f"`tidelog log repair {LOGS} --partition t-0`" in problem
    damage = the_damage(fs)
    error = node.logs.directories[LOGS].corrupt[T0]
    assert (damage.path, damage.reason) == (error.path, error.reason)
    assert (damage.recovery_point, damage.position) == (11, getattr(error, "position", None))
    assert list(find_damage(fs, LOGS, T0._replace(partition=5))) == []


@pytest.mark.parametrize("quarantine", [QUARANTINE, ELSEWHERE])
def test_truncated_before_the_damage(quarantine: str) -> None:
    fs = damaged(machine())
    before = logs_in(fs, DIRECTORY)
    damage = the_damage(fs)
    moved = truncate(fs, damage, quarantine)
    assert {name: read_whole(fs, join(quarantine, name)) for name in moved if ".log" in name} == {
        name: data for name, data in before.items() if name >= f"{damage.segment:020d}"
    }
    note = json.loads(read_whole(fs, join(quarantine, NOTE)))
    assert (note["action"], note["log_end_offset"], note["reason"]) == ("truncate", damage.next_offset, damage.reason)
    node = start(fs)
    assert not node.logs.directories[LOGS].corrupt
    assert contents(node.log()) == [(i, b"%d" % i) for i in range(damage.next_offset)]
    assert 0 < damage.next_offset < RECORDS
    node.produce([b"again"])
    node.stop()
    assert list(find_damage(fs, LOGS)) == []


def test_a_damaged_first_batch_of_the_first_and_of_a_later_segment() -> None:
    for segment in (0, 1):
        fs = damaged(machine(), segment, byte=68)
        damage = the_damage(fs)
        assert damage.position == 0
        truncate(fs, damage, QUARANTINE)
        node = start(fs)
        assert not node.logs.directories[LOGS].corrupt
        assert contents(node.log()) == [(i, b"%d" % i) for i in range(damage.next_offset)]
        assert node.log().log_end_offset == damage.next_offset == damage.segment


def test_a_log_that_has_lost_its_end() -> None:
    fs = machine()
    node = start(fs)
    for i in range(RECORDS):
        node.produce([b"%d" % i])
    node.flush()
    node.checkpoint()
    last = node.log().segments.active
    path, base_offset = last.path, last.base_offset
    fs.kill()
    fs.remove_file(path)
    damage = the_damage(fs)
    assert f"ends at offset {base_offset}" in damage.reason
    truncate(fs, damage, QUARANTINE)
    node = start(fs)
    assert not node.logs.directories[LOGS].corrupt
    assert node.log().log_end_offset == base_offset


@pytest.mark.parametrize("quarantine", [QUARANTINE, ELSEWHERE])
def test_started_over(quarantine: str) -> None:
    fs = damaged(machine())
    before = {name: read_whole(fs, join(DIRECTORY, name)) for name in fs.list_directory(DIRECTORY)}
    start_over(fs, DIRECTORY, T0, "rotten", quarantine)
    after = {name: read_whole(fs, join(quarantine, name)) for name in fs.list_directory(quarantine)}
    assert json.loads(after.pop(NOTE))["reason"] == "rotten"
    assert after == before
    assert "t-0" not in fs.list_directory(LOGS)
    assert read_offsets(fs, join(LOGS, RECOVERY_POINT_CHECKPOINT)) == {}
    node = start(fs)
    assert node.log().log_end_offset == 0
    assert list(find_damage(fs, LOGS)) == []


@pytest.mark.parametrize("quarantine", [QUARANTINE, ELSEWHERE])
def test_nothing_is_lost_wherever_a_repair_is_interrupted(quarantine: str) -> None:
    """Every byte of the log is in the log or in the quarantine, and the broker truncates nothing by itself."""
    point = 0
    while True:
        fs = damaged(machine())
        before, damage = logs_in(fs, DIRECTORY), the_damage(fs)
        assert isinstance(fs.trace, CrashingTrace)
        point += 1
        fs.trace.crash_at = fs.trace.count + point
        try:
            truncate(fs, damage, quarantine)
            completed = True
        except PowerLoss:
            completed = False
        fs.trace.crash_at = NEVER
        fs.lose_power()
        for name, data in before.items():
            homes = [logs_in(fs, each).get(name) for each in (DIRECTORY, quarantine) if _exists(fs, each)]
            assert data in homes, f"{name} is lost after {point} operations"
        node = start(fs)
        assert not node.progress.truncations
        assert completed == (not node.logs.directories[LOGS].corrupt) or _is_through(fs, damage)
        if completed:
            break
    assert point > 10


def _exists(fs: SimFileSystem, directory: str) -> bool:
    try:
        return fs.stat(directory).is_directory
    except NotFound:
        return False


def _is_through(fs: SimFileSystem, damage: Damage) -> bool:
    return read_offsets(fs, join(LOGS, RECOVERY_POINT_CHECKPOINT))[T0] <= damage.next_offset
