"""One voter's metadata log on a simulated disk: electing, writing, reading, restarting, faults and refusals."""

from collections.abc import Callable, Iterator

import pytest
from tests.sim.metadata_node import LOG_DIR, NOBODY, STATIC, Answer, MetadataNode, format_node, set_value

from tidelog.metadata.errors import UnwritableMetadata
from tidelog.metadata.records.transactions import BeginTransactionRecord
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.ports.errors import DiskFull, LockHeld
from tidelog.ports.files import OpenMode
from tidelog.ports.paths import parent_of
from tidelog.protocol.control_records import LeaderChangeMessage
from tidelog.raft.voters import VoterEndpoint
from tidelog.server.metadata_log.committed_reader import MetadataLogReader
from tidelog.server.metadata_log.loading import InconsistentMetadataLogError, LoadedMetadataLog, load_metadata_log
from tidelog.server.metadata_log.log_config import MetadataLogConfig
from tidelog.server.metadata_log.snapshot_writer import snapshot_steps
from tidelog.server.metadata_log.snapshots import SnapshotId
from tidelog.sim.clock import SimClock
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.partition_metadata import read_partition_metadata, write_partition_metadata
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.log.loader import LogContext
from tidelog.storage.segment.descriptors import Descriptors

DIRECTORY = f"{LOG_DIR}/__cluster_metadata-0"
SEGMENT = f"{DIRECTORY}/{0:020d}.log"


@pytest.fixture
def clock() -> SimClock:
    return SimClock()


@pytest.fixture
def fs(clock: SimClock) -> SimFileSystem:
    fs = SimFileSystem(clock, seed=4)
    format_node(fs, clock)
    return fs


def restart(node: MetadataNode, **changes: object) -> MetadataNode:
    """Kill the process and start another on the same disk."""
    node.fs.kill()
    return MetadataNode(node.fs, node.clock, **changes).start()  # type: ignore[arg-type]


# Electing


def test_it_leads_and_its_first_record_says_so(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    assert (node.quorum.is_leader, node.quorum.epoch, node.quorum.leader_id) == (True, 1, 1)
    first = node.log.read(0)[0]
    assert isinstance(first.control[0], LeaderChangeMessage)
    assert (first.epoch, first.base_offset) == (1, 0)
    metadata = read_partition_metadata(fs, DIRECTORY)
    assert metadata is not None
    assert metadata.topic_id == bytes(15) + b"\x01"


def test_nothing_is_written_before_the_vote_is_on_disk(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock)
    node.quorum.start(node.loaded.election, node.now, clock.wall_ms())
    assert (node.log.end_offset, node.quorum.leader_id) == (0, None)
    node.turn()
    assert node.log.end_offset == 0
    node.settle()
    assert node.quorum.leader_id == 1


@pytest.mark.parametrize("seed", range(8))  # in some seeds the record survives the power loss
def test_an_epoch_in_which_somebody_could_have_seen_it_lead_does_not_come_again(seed: int, clock: SimClock) -> None:
    """The power fails when the leader is known, but before its first record is synced."""
    fs = SimFileSystem(clock, seed)
    format_node(fs, clock)
    node = MetadataNode(fs, clock)
    node.quorum.start(node.loaded.election, node.now, clock.wall_ms())
    while not node.quorum.is_leader:
        clock.advance(1)
        node.turn()
    assert node.log.synced_offset == 0
    fs.lose_power()
    assert MetadataNode(fs, clock).start().quorum.epoch == node.quorum.epoch + 1


def test_a_vote_that_can_not_be_written_ends_it(fs: SimFileSystem, clock: SimClock) -> None:
    fs.disk("/disk").faults.fail(Op.SYNC, f"{DIRECTORY}/quorum-state.tmp")
    node = MetadataNode(fs, clock).start()
    assert node.log.fault is not None
    assert not node.quorum.is_leader
    assert node.log.end_offset == 0
    assert node.submit("all") == [ErrorCode.NOT_CONTROLLER]


def test_an_epoch_that_can_not_begin_is_given_up_for_a_later_one(fs: SimFileSystem, clock: SimClock) -> None:
    fs.disk("/disk").faults.fail(Op.WRITE, SEGMENT, fault=DiskFull)
    node = MetadataNode(fs, clock).start()
    assert (node.quorum.is_leader, node.quorum.epoch, node.log.end_offset) == (False, 1, 0)
    for _ in range(2):
        clock.advance(2000)
        node.settle()
    assert (node.quorum.is_leader, node.quorum.epoch) == (True, 3)
    assert node.ask(("a", "1")) == "a is set"


def test_dynamic_voters_follow_the_leaders_endpoint(clock: SimClock) -> None:
    fs = SimFileSystem(clock, seed=4)
    format_node(fs, clock, standalone=True)
    node = MetadataNode(fs, clock, voters=NOBODY).start()
    assert (node.loaded.history.kraft_version, node.loaded.history.voters_offset) == (1, 2)
    moved = VoterEndpoint("CONTROLLER", "elsewhere", 9093)
    again = restart(node, voters=NOBODY, endpoint=moved)
    assert again.loaded.history.voters.nodes[0].endpoints == (moved,)
    third = restart(again, voters=NOBODY, endpoint=moved)
    assert third.loaded.history.voters_offset == again.loaded.history.voters_offset


# Writing and reading


def test_an_answer_waits_for_the_sync(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    answers = node.submit(("a", "1"))
    node.turn()
    assert node.log.end_offset == node.log.high_watermark + 1
    assert answers == []
    node.settle()
    assert answers == ["a is set"]
    assert node.log.high_watermark == node.log.synced_offset == node.log.end_offset


def test_a_turn_is_one_write_and_what_comes_meanwhile_shares_the_next_sync(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    answers = [node.submit((f"k{each}", "v")) for each in range(5)]
    before = fs.trace.count
    node.turn()
    answers += [node.submit((f"l{each}", "v")) for each in range(5)]
    node.turn()
    assert fs.trace.count - before <= 5, "two writes, one sync begun"
    node.settle()
    assert all(len(each) == 1 for each in answers)
    node.validate()


def test_a_large_result_becomes_several_batches_unless_it_is_atomic(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock, MetadataLogConfig(batch_bytes_max=500)).start()
    end, records = node.log.end_offset, [set_value(f"key{each}", "v" * 20) for each in range(30)]
    assert node.ask(Answer(records, "done")) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert (node.log.end_offset, len(node.bugs)) == (end, 1)
    assert node.ask(Answer(records, "done", is_atomic=False)) == "done"
    assert node.log.end_offset == end + 30
    assert len(node.log.read(end)) > 3
    assert len(restart(node).settings.values) == 30


def test_what_is_not_committed_is_not_read(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    reader = MetadataLogReader(node.log)
    while reader.next() is not None:
        pass
    node.submit(("a", "1"))
    node.turn()
    assert reader.next() is None
    node.settle()
    batch = reader.next()
    assert batch is not None
    assert [message.name for message, _ in batch.records] == ["a"]
    assert (reader.offset, reader.epoch) == (node.log.end_offset - 1, 1)


def test_the_image_stops_before_an_open_transaction(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    offset = node.follower.image.provenance.offset
    node.ask(Answer([(BeginTransactionRecord(), 0), set_value("a", "1")], "begun"))
    assert node.follower.image.provenance.offset == offset
    again = restart(node)
    assert again.settings.values == {}, "aborted by the next controller"
    assert again.follower.image.provenance.offset == again.log.end_offset - 1


# Snapshots and retention


def test_a_snapshot_replaces_the_log_before_it(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    operation = node.follower.take_snapshot(node.now, clock.wall_ms())
    assert node.follower.take_snapshot(node.now, clock.wall_ms()) is None, "one at a time"
    node.settle()
    assert operation is not None
    assert operation.is_done
    assert node.follower.take_snapshot(node.now, clock.wall_ms()) is None, "nothing is new"
    node.ask(("b", "2"))
    again = restart(node)
    assert again.log.log.log_start_offset == node.log.snapshots[0].id.offset
    assert again.settings.values == {"a": "1", "b": "2"}
    assert again.follower.image.configs == node.follower.image.configs


def test_a_snapshot_is_sliced(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(Answer([set_value(f"key{each}", "v") for each in range(2000)], "done"))
    operation = node.follower.take_snapshot(node.now, clock.wall_ms())
    turns = 0
    while operation is not None and not operation.is_done:
        clock.advance(1)
        node.turn()
        turns += 1
    assert turns > 2
    assert len(restart(node).settings.values) == 2000


def test_snapshots_come_after_so_many_bytes_or_so_long(fs: SimFileSystem, clock: SimClock) -> None:
    config = MetadataLogConfig(bytes_between_snapshots_max=2000, snapshot_interval_ms_max=5000)
    node = MetadataNode(fs, clock, config).start()
    node.ask(("a", "1"))
    assert node.log.snapshots == []
    clock.advance(5000)
    node.settle()
    assert len(node.log.snapshots) == 1
    clock.advance(50_000)
    node.settle()
    assert len(node.log.snapshots) == 1, "nothing is new"
    while len(node.log.snapshots) == 1:
        assert node.log.end_offset < 100
        node.ask(("a", "1"))


def test_old_snapshots_and_segments_go(fs: SimFileSystem, clock: SimClock) -> None:
    config = MetadataLogConfig(segment_bytes=400, retention_bytes=3000, bytes_between_snapshots_max=600)
    node = MetadataNode(fs, clock, config).start()
    for each in range(60):
        node.ask((f"key{each % 3}", str(each)))
    assert node.log.log.size_bytes + sum(each.size_bytes for each in node.log.snapshots) < 4500
    assert node.log.log.log_start_offset == node.log.snapshots[0].id.offset > 20
    names = [name for name in fs.list_directory(DIRECTORY) if name.endswith(".checkpoint")]
    assert names == [f"{each.id}.checkpoint" for each in node.log.snapshots]
    assert restart(node, config=config).settings.values == {"key0": "57", "key1": "58", "key2": "59"}


def test_before_the_first_record_there_is_no_snapshot(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock)
    assert node.follower.take_snapshot(node.now, clock.wall_ms()) is None


def test_a_snapshot_that_can_not_hold_the_image_is_given_up(fs: SimFileSystem, clock: SimClock) -> None:
    def contents() -> Iterator[bytes]:
        yield b"some"
        raise UnwritableMetadata(7, "the rest")

    node = MetadataNode(fs, clock).start()
    steps = snapshot_steps(node.log, SnapshotId(3, 1), 0, contents(), clock.wall_ms())
    assert node.log.operations.begin(DIRECTORY, steps).fault is None
    node.settle()
    assert (node.log.fault, node.log.snapshots) == (None, [])
    assert "can not hold the rest" in node.log.problems[0]
    assert not [name for name in fs.list_directory(DIRECTORY) if name.endswith(".part")]
    assert node.ask(("a", "1")) == "a is set"


def test_a_snapshot_that_finds_no_room_is_given_up(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    fs.disk("/disk").faults.fail(Op.WRITE, fault=DiskFull)
    node.follower.take_snapshot(node.now, clock.wall_ms())
    node.settle()
    assert (node.log.fault, node.log.snapshots) == (None, [])
    assert not [name for name in fs.list_directory(DIRECTORY) if name.endswith(".part")]
    assert [each.log_dir for each in node.log.shortages] == [parent_of(DIRECTORY)]
    assert node.ask(("b", "2")) == "b is set"
    assert node.follower.take_snapshot(node.now, clock.wall_ms()) is not None
    node.settle()
    assert len(node.log.snapshots) == 1


# Faults


def test_a_full_disk_costs_the_requests_of_the_turn(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    fs.disk("/disk").faults.fail(Op.WRITE, SEGMENT, fault=DiskFull)
    assert node.ask(("b", "2")) is ErrorCode.NOT_CONTROLLER
    assert node.quorum.epoch == 1, "it still leads"
    assert node.ask(("c", "3")) == "c is set"
    assert node.settings.values == {"a": "1", "c": "3"}
    node.validate()
    assert restart(node).settings.values == {"a": "1", "c": "3"}


def test_a_failed_sync_is_final(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    fs.disk("/disk").faults.fail(Op.SYNC, SEGMENT)
    assert node.ask(("a", "1")) is ErrorCode.NOT_CONTROLLER
    assert node.log.fault is not None
    assert node.log.high_watermark < node.log.end_offset
    assert node.submit(("b", "2")) == [ErrorCode.NOT_CONTROLLER]


# Restarting


def test_a_clean_restart_has_no_problems_and_a_higher_epoch(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    node.stop()
    again = MetadataNode(fs, clock)
    assert again.loaded.problems == []
    assert again.start().quorum.epoch == 2
    assert again.settings.values == {"a": "1"}


def test_a_torn_end_is_cut(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    fs.kill()
    file = fs.open(SEGMENT, OpenMode.WRITE)
    file.write_at(file.size(), [b"half a batch"])
    again = MetadataNode(fs, clock)
    assert [problem for problem in again.loaded.problems if "cut at offset" in problem]
    assert again.start().settings.values == {"a": "1"}


def test_damage_of_what_was_durable_is_refused_and_not_cut(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    node.stop()
    size = fs.stat(SEGMENT).size
    fs.rot(SEGMENT, [8 * (size - 3)])
    with pytest.raises(CorruptSegmentError):
        MetadataNode(fs, clock)
    assert fs.stat(SEGMENT).size == size


def test_the_recovery_point_is_written_down_once_a_minute(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    clock.advance(60_000)
    node.settle()
    fs.lose_power()
    fs.rot(SEGMENT, [8 * 100])
    with pytest.raises(CorruptSegmentError):
        MetadataNode(fs, clock)


def test_a_damaged_snapshot_is_passed_over_while_the_log_reaches_back(fs: SimFileSystem, clock: SimClock) -> None:
    node = MetadataNode(fs, clock).start()
    node.ask(("a", "1"))
    node.follower.take_snapshot(node.now, clock.wall_ms())
    node.stop()
    fs.rot(f"{DIRECTORY}/{node.log.snapshots[0].id}.checkpoint", [8 * 70])
    again = MetadataNode(fs, clock).start()
    assert "passed over" in again.loaded.problems[0]
    assert again.settings.values == {"a": "1"}


def lose_first_segment(fs: SimFileSystem) -> None:
    first = min(name for name in fs.list_directory(DIRECTORY) if name.endswith(".log"))
    for name in fs.list_directory(DIRECTORY):
        if name.startswith(first.removesuffix(".log")):
            fs.remove_file(f"{DIRECTORY}/{name}")


def lose_snapshots(fs: SimFileSystem) -> None:
    for name in fs.list_directory(DIRECTORY):
        if name.endswith(".checkpoint"):
            fs.remove_file(f"{DIRECTORY}/{name}")


def another_topic(fs: SimFileSystem) -> None:
    write_partition_metadata(fs, DIRECTORY, Uuid(b"t" * 16))


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lose_first_segment, "missing in between"),
        (lose_snapshots, "no whole snapshot"),
        (another_topic, "another topic"),
    ],
)
def test_files_that_do_not_make_up_one_log_are_refused(
    fs: SimFileSystem, clock: SimClock, damage: Callable[[SimFileSystem], None], reason: str
) -> None:
    bytes_max = 600 if damage is lose_snapshots else 10**6
    config = MetadataLogConfig(segment_bytes=400, retention_bytes=1, bytes_between_snapshots_max=bytes_max)
    node = MetadataNode(fs, clock, config).start()
    for each in range(30):
        node.ask(("a", str(each)))
    node.stop()
    damage(fs)
    with pytest.raises(InconsistentMetadataLogError, match=reason):
        MetadataNode(fs, clock, config)


def test_a_metadata_directory_of_its_own_has_a_lock_of_its_own(fs: SimFileSystem, clock: SimClock) -> None:
    def load() -> LoadedMetadataLog:
        context = LogContext(Descriptors(fs, 8))
        return load_metadata_log(context, LOG_DIR, MetadataLogConfig(), STATIC, clock.wall_ms(), takes_lock=True)

    loaded = load()
    with pytest.raises(LockHeld):
        load()
    loaded.log.close(clock.wall_ms())
    load()


def test_static_voters_of_the_configuration_hold_until_the_log_has_some(fs: SimFileSystem, clock: SimClock) -> None:
    assert MetadataNode(fs, clock, voters=STATIC).loaded.history.voters == STATIC
