"""The logs of one broker on a simulated machine, as the tests talk about them: produce, settle, restart, look."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tidelog.config.layers import Layers
from tidelog.config.topic_config import TopicConfig, resolve_topic_config
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.control import EndTransactionMarker
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import AppendOrigin, Refused
from tidelog.storage.directories.loading import LoadProgress
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import FetchIsolation, read
from tidelog.storage.segment.descriptors import Descriptors

TOPIC_ID = Uuid(bytes(range(16)))
T0 = TopicPartition("t", 0)
SETTLING_TURNS_MAX = 10_000
DEFAULT_CONFIG = resolve_topic_config({}, Layers())


def topic_config(**changes: Any) -> TopicConfig:
    return replace(DEFAULT_CONFIG, **changes)


def batch_of(values: Sequence[bytes], timestamp: int, key: bytes | None = None, **options: Any) -> bytes:
    builder = BatchBuilder(options=BatchOptions(**options))
    for value in values:
        builder.append(timestamp, key, value)
    return builder.build()


def marker(timestamp: int, producer_id: int, epoch: int, committed: bool) -> bytes:
    options = BatchOptions(producer_id=producer_id, producer_epoch=epoch, is_transactional=True, is_control=True)
    builder = BatchBuilder(options=options)
    builder.append_marker(timestamp, EndTransactionMarker(committed, coordinator_epoch=0))
    return builder.build()


def contents(log: Log, start: int | None = None) -> list[tuple[int, bytes | None]]:
    """Return every record from the log's start (or `start`) to its end, read as a follower would; checksums are
    checked."""
    offset = log.log_start_offset if start is None else start
    found: list[tuple[int, bytes | None]] = []
    while offset < log.log_end_offset:
        answer = read(log, offset, 300, FetchIsolation.LOG_END)
        assert answer.code is ErrorCode.NONE
        if answer.segment is None:
            break
        for batch in batches(answer.read_all()):
            batch.check_crc()
            found += [(each.offset, each.value) for each in batch.records() if each.offset >= offset]
            end = batch.header.last_offset + 1
        offset = end
    return found


class Broker:
    """The broker of one process. After `fs.kill` or `fs.lose_power`, make another one on the same machine."""

    def __init__(
        self,
        fs: SimFileSystem,
        clock: SimClock,
        paths: Sequence[str] = ("/disk/logs",),
        config: TopicConfig = DEFAULT_CONFIG,
        reserved_bytes: int = 0,
    ) -> None:
        self.fs = fs
        self.clock = clock
        self.epoch = 0
        self.logs = Logs(LogContext(Descriptors(fs, 16)), paths, lambda _topic: config, reserved_bytes)
        self.progress = LoadProgress(0)
        self.flushes_new = True  # flush new logs: one that never was flushed does not roll, and most tests want it to

    @property
    def now(self) -> int:
        return self.clock.wall_ms()

    def start(self) -> "Broker":
        for progress in self.logs.load(self.now):
            self.progress = progress
        return self

    def log(self, partition: TopicPartition = T0) -> Log:
        is_known = self.logs.get(partition) is not None
        log = self.logs.create(partition, TOPIC_ID, self.now)
        if log is ErrorCode.KAFKA_STORAGE_ERROR:
            creation = self.logs.begin_create({partition: TOPIC_ID}, self.now)  # goes on once the name is free
            self.settle()
            log = creation.outcomes[partition]
        assert isinstance(log, Log), log
        if not is_known and self.flushes_new:
            self.flush(partition)
        return log

    def stage(self, batch: bytes, partition: TopicPartition = T0, **options: Any) -> Append | Refused:
        buffer = memoryview(bytearray(batch))
        log = self.log(partition)
        return log.append_as_leader(buffer, 0, len(buffer), self.epoch, self.now, **options)

    def commit(self, *partitions: TopicPartition) -> None:
        self.logs.commit([self.log(each) for each in partitions or (T0,)], self.now)

    def produce(self, values: Sequence[bytes], partition: TopicPartition = T0, **options: Any) -> Append | Refused:
        """Append one batch in a turn of its own."""
        append = self.stage(batch_of(values, self.now, **options), partition)
        log = self.logs.get(partition)
        assert log is not None
        self.logs.commit([log], self.now)
        return append

    def end_transaction(self, producer_id: int, epoch: int, committed: bool, partition: TopicPartition = T0) -> None:
        batch = marker(self.now, producer_id, epoch, committed)
        staged = self.stage(batch, partition, origin=AppendOrigin.COORDINATOR, transaction_version=1)
        assert isinstance(staged, Append), staged
        self.commit(partition)

    def settle(self) -> None:
        """Run turns until everything that was begun has ended."""
        for _ in range(SETTLING_TURNS_MAX):
            if not self.logs.work(self.now) and not self.logs.is_flushing:
                return
            self.clock.advance(20)
            self.logs.complete(self.fs.completions(), self.now)
        raise AssertionError("it does not come to its end")

    def flush(self, *partitions: TopicPartition) -> None:
        for each in partitions or (T0,):
            log = self.log(each)
            log.flush.ask(log)
        self.settle()

    def truncate(self, offset: int, partition: TopicPartition = T0) -> None:
        self.logs.begin_truncate({partition: offset}, self.now)
        self.settle()

    def checkpoint(self) -> None:
        self.logs.begin_checkpoint()
        self.settle()

    def retain(self) -> None:
        self.logs.begin_retention(self.now)
        self.settle()

    def stop(self) -> None:
        self.settle()
        self.logs.close(7, self.now)
