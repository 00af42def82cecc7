"""Batches of a coordinator's log that take longer than a turn to read: workers read them, a piece at a time, while the
other coordinators serve. A batch that can not be read stops only the coordinator of its partition."""

import logging
from dataclasses import replace

import pytest
from tests.support.coordinating import commit, fetched, group_world, partition_of, until_loaded
from tests.support.preparing import IdleWorkers
from tests.unit.records.raw import content, field, record, varint

from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.model.errors import ErrorCode
from tidelog.ports.files import OpenMode
from tidelog.records.batch import RecordBatch, batches, read_batch
from tidelog.records.builder import seal_batch
from tidelog.records.compression import CompressionType, compress
from tidelog.records.header import TRANSACTIONAL_FLAG, BatchHeader
from tidelog.sim.node_world import NodeWorld
from tidelog.storage.append.batch_pieces import PIECE_BYTES, BatchPiece, PieceJob, cut_piece, inflated_within_turn
from tidelog.storage.append.preparation import Unprepared
from tidelog.storage.append.weight import INLINE_INFLATED_BYTES

HEAVY, LIGHT = "group-0", "group-1"  # groups of different partitions
CODECS = list(CompressionType)
PADDING = "m" * 4_000
MB = 1 << 20


def commit_of(index: int, offset: int) -> bytes:
    """Return a commit of the group HEAVY for partition `index` modulo 2 of the topic `t`."""
    key = encode_key(OffsetCommitKey(group=HEAVY, topic="t", partition=index % 2))
    value = encode_value(OffsetCommitValue(offset=offset, metadata=PADDING, commit_timestamp=1), 3)
    return record(content(varint(index), varint(0), field(key), field(value)))


def batch(codec: CompressionType, body: bytes, count: int, flags: int = 0) -> bytes:
    header = BatchHeader(
        attributes=codec | flags,
        last_offset_delta=count - 1,
        base_timestamp=1,
        max_timestamp=1,
        records_count=count,
    )
    return seal_batch(header, compress(codec, body))


def heavy_batch(codec: CompressionType, flags: int = 0) -> bytes:
    """Return a batch of commits that is too heavy for a turn; its last commits are the ones that count."""
    count = (INLINE_INFLATED_BYTES[codec] or 4 * MB) // len(PADDING) + 100
    return batch(codec, b"".join(commit_of(index, index) for index in range(count)), count, flags)


def found_in(data: bytes) -> RecordBatch:
    found = read_batch(data)
    assert found is not None
    return found


def write_behind(world: NodeWorld, data: bytes) -> int:
    """Write the batch at the end of the log of HEAVY's partition, as if another broker had left it there, and leave the
    node dead. Return the batch's offset."""
    log = partition_of(world, HEAVY).log
    path, offset = f"{log.directory}/{0:020d}.log", log.log_end_offset
    world.kill()
    header = replace(found_in(data).header, base_offset=offset)
    file = world.fs.open(path, OpenMode.WRITE)
    file.write_at(world.fs.stat(path).size, [seal_batch(header, bytes(found_in(data).view[61:]))])
    file.close()
    return offset


@pytest.fixture
def world() -> NodeWorld:
    world = group_world(71)
    for group in (HEAVY, LIGHT):
        assert commit(world.client(), group, 7) is ErrorCode.NONE
    assert partition_of(world, HEAVY) is not partition_of(world, LIGHT)
    return world


@pytest.mark.parametrize("codec", CODECS)
def test_the_other_coordinators_serve_while_it_is_read(world: NodeWorld, codec: CompressionType) -> None:
    data = heavy_batch(codec)
    write_behind(world, data)
    world.start(until_running=False)
    workers = IdleWorkers(world)
    workers.wait_for()
    world.wait_for(lambda: fetched(world.client(), LIGHT) == 7 or None)
    assert fetched(world.client(), HEAVY) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    workers.let_go()
    until_loaded(world)
    last = found_in(data).header.records_count - 1
    assert fetched(world.client(), HEAVY) == last - last % 2, "of partition 0"
    assert commit(world.client(), HEAVY, 1) is ErrorCode.NONE
    world.stop()


def test_a_bomb_costs_the_coordinator_of_its_partition(world: NodeWorld, caplog: pytest.LogCaptureFixture) -> None:
    offset = write_behind(world, batch(CompressionType.ZSTD, bytes(65 * MB), 1))
    with caplog.at_level(logging.ERROR):
        world.start()
        world.run(1_000)
    (line,) = (each.getMessage() for each in caplog.records if "coordinator is out" in each.getMessage())
    assert f"the batch at offset {offset} can not be read: inflates to more than the limit of {64 * MB} bytes" in line
    assert "tidelog log repair" in line
    assert fetched(world.client(), HEAVY) is ErrorCode.NOT_COORDINATOR
    assert fetched(world.client(), LIGHT) == 7
    assert commit(world.client(), LIGHT, 8) is ErrorCode.NONE
    world.stop()


# The pieces


def pieces_of(data: bytes) -> list[BatchPiece]:
    pieces, job = [], PieceJob(data)
    while True:
        piece = cut_piece(job)
        assert isinstance(piece, BatchPiece)
        pieces.append(piece)
        if piece.is_last:
            return pieces
        job = PieceJob(data, piece.end, piece.records_before_end)


@pytest.mark.parametrize("codec", CODECS)
def test_the_pieces_are_the_batch(codec: CompressionType) -> None:
    data = heavy_batch(codec, TRANSACTIONAL_FLAG)
    pieces = pieces_of(data)
    assert len(pieces) > 1
    cut = [each for piece in pieces for each in batches(piece.batch)]
    for each in cut:
        each.check_crc()
        assert each.compression is CompressionType.NONE
        assert each.header.is_transactional
        assert each.header.size_bytes < PIECE_BYTES + 2 * len(PADDING)
    assert [record for each in cut for record in each.records()] == list(found_in(data).records())


@pytest.mark.parametrize("codec", CODECS)
def test_what_fits_a_turn_is_inflated_there(codec: CompressionType) -> None:
    body = commit_of(0, 5)
    light = inflated_within_turn(found_in(batch(codec, body, 1)))
    assert light is not None
    assert bytes(light) == body
    if codec:
        assert inflated_within_turn(found_in(heavy_batch(codec))) is None


@pytest.mark.parametrize(
    ("body", "count", "reason"),
    [
        (commit_of(0, 1) + b"\x00", 1, "1 bytes after the last record"),
        (commit_of(0, 1), 2, "ends within"),
        (b"\x7e", 1, "record length 63 with 0 bytes left"),
    ],
)
def test_damage_is_told(body: bytes, count: int, reason: str) -> None:
    found = cut_piece(PieceJob(batch(CompressionType.LZ4, body, count)))
    assert isinstance(found, Unprepared)
    assert reason in found.message
