"""A small, healthy data directory, written byte by byte without the code that writes logs: the checks must not depend
on that code being right.

    orders-0   two segments of plain batches, two leader epochs, an idempotent producer
    ledger-0   one segment: a committed transaction, an aborted one, and one that is still open
"""

from collections.abc import Callable
from struct import pack

from tidelog.model.ids import NodeId, TopicPartition, Uuid
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.control import EndTransactionMarker
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.clean_shutdown import encode_clean_shutdown
from tidelog.storage.checkpoints.meta_properties import MetaProperties, encode_meta_properties
from tidelog.storage.checkpoints.partition_metadata import encode_partition_metadata
from tidelog.storage.checkpoints.text import EpochEntry, encode_epochs, encode_offsets
from tidelog.storage.producers.entry import BatchMetadata, ProducerEntry
from tidelog.storage.producers.snapshot import encode_snapshot

DATA = "/disk/data"
ORDERS = f"{DATA}/orders-0"
LEDGER = f"{DATA}/ledger-0"
FIRST = f"{ORDERS}/00000000000000000000"
SECOND = f"{ORDERS}/00000000000000000010"
BATCH_RECORDS = 5
START_MS = 1_700_000_000_000


def write(fs: FileSystem, path: str, contents: bytes) -> None:
    file = fs.open(path, OpenMode.CREATE)
    file.truncate(0)
    file.write_at(0, [contents])
    file.close()


def read(fs: FileSystem, path: str) -> bytes:
    file = fs.open(path, OpenMode.READ)
    contents = file.read_at(0, file.size())
    file.close()
    return contents


def change(fs: FileSystem, path: str, edit: Callable[[bytes], bytes]) -> None:
    write(fs, path, edit(read(fs, path)))


def batch(
    base_offset: int,
    count: int = BATCH_RECORDS,
    *,
    epoch: int = 0,
    timestamp: int | None = None,
    producer: tuple[int, int, int] | None = None,
    transactional: bool = False,
) -> bytes:
    """Return a batch. `producer` is (id, epoch, base sequence)."""
    id_, producer_epoch, sequence = producer or (-1, -1, -1)
    options = BatchOptions(
        producer_id=id_,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        is_transactional=transactional,
        partition_leader_epoch=epoch,
    )
    builder = BatchBuilder(base_offset, options=options)
    for number in range(count):
        at = START_MS + base_offset + number if timestamp is None else timestamp
        builder.append(at, b"key-%d" % number, b"value at %03d" % (base_offset + number))
    return builder.build()


def marker(offset: int, *, committed: bool, producer: tuple[int, int]) -> bytes:
    options = BatchOptions(
        producer_id=producer[0],
        producer_epoch=producer[1],
        is_transactional=True,
        is_control=True,
        partition_leader_epoch=0,
    )
    builder = BatchBuilder(offset, options=options)
    builder.append_marker(START_MS + offset, EndTransactionMarker(committed, coordinator_epoch=3))
    return builder.build()


def producer(
    id_: int, epoch: int, sequence: int, offset: int, *, txn_first: int | None = None, delta: int = BATCH_RECORDS - 1
) -> ProducerEntry:
    last = BatchMetadata(sequence, offset, delta, START_MS)
    return ProducerEntry(id_, epoch, -1, START_MS, txn_first, (last,))


def healthy() -> SimFileSystem:
    fs = SimFileSystem(SimClock(), seed=7, mounts=["/disk"])
    fs.make_directory(DATA)
    write(
        fs, f"{DATA}/meta.properties", encode_meta_properties(MetaProperties(1, "cluster", NodeId(1), Uuid(b"d" * 16)))
    )
    write(fs, f"{DATA}/.kafka_cleanshutdown", encode_clean_shutdown(5))
    ends = {TopicPartition("orders", 0): 20, TopicPartition("ledger", 0): 17}
    write(fs, f"{DATA}/recovery-point-offset-checkpoint", encode_offsets(ends))
    write(fs, f"{DATA}/replication-offset-checkpoint", encode_offsets(ends))
    _write_orders(fs)
    _write_ledger(fs)
    return fs


def _write_orders(fs: FileSystem) -> None:
    fs.make_directory(ORDERS)
    write(fs, f"{ORDERS}/partition.metadata", encode_partition_metadata(Uuid(b"o" * 16)))
    write(fs, f"{ORDERS}/leader-epoch-checkpoint", encode_epochs([EpochEntry(0, 0), EpochEntry(2, 10)]))
    for path, base, epoch in ((FIRST, 0, 0), (SECOND, 10, 2)):
        batches = [batch(base + n, epoch=epoch, producer=(8, 0, base + n)) for n in (0, BATCH_RECORDS)]
        write(fs, f"{path}.log", b"".join(batches))
        write(fs, f"{path}.index", pack(">ii", 9, len(batches[0])))
        write(fs, f"{path}.timeindex", pack(">qi", START_MS + base + 4, 4) + pack(">qi", START_MS + base + 9, 9))
    for offset in (10, 20):
        write(fs, f"{ORDERS}/{offset:020d}.snapshot", encode_snapshot([producer(8, 0, offset - 1, offset - 1)]))


def _write_ledger(fs: FileSystem) -> None:
    fs.make_directory(LEDGER)
    write(fs, f"{LEDGER}/partition.metadata", encode_partition_metadata(Uuid(b"l" * 16)))
    write(fs, f"{LEDGER}/leader-epoch-checkpoint", encode_epochs([EpochEntry(0, 0)]))
    log = [
        batch(0, producer=(7, 0, 0), transactional=True),
        marker(5, committed=True, producer=(7, 0)),
        batch(6, producer=(7, 0, 5), transactional=True),
        marker(11, committed=False, producer=(7, 0)),
        batch(12, producer=(7, 0, 10), transactional=True),
    ]
    base = f"{LEDGER}/00000000000000000000"
    write(fs, f"{base}.log", b"".join(log))
    write(fs, f"{base}.index", b"")
    write(fs, f"{base}.timeindex", b"")
    write(fs, f"{base}.txnindex", pack(">hqqqq", 0, 7, 6, 11, 12))
    write(fs, f"{LEDGER}/{17:020d}.snapshot", encode_snapshot([producer(7, 0, 14, 16, txn_first=12)]))
