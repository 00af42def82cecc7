"""A broker with its cleaner on a simulated machine: the loop's turns, and what a consumer sees of a compacted log."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tests.sim.broker import T0, Broker, topic_config

from tidelog.config.topic_config import TopicConfig
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.sim.clock import SimClock
from tidelog.sim.entropy import SimEntropy
from tidelog.sim.files import SimFileSystem
from tidelog.sim.housekeeping import SimHousekeeping
from tidelog.storage.cleaner.cleaner_config import CleanerConfig
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.scheduler import LogCleaner
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import FetchIsolation, read

TURN_MS = 5
TURNS_MAX = 5000
Row = tuple[bytes | None, bytes | None]
COMPACTED = topic_config(
    cleanup_policy=("compact",),
    internal_segment_bytes=400,
    index_interval_bytes=100,
    min_cleanable_dirty_ratio=0.01,
    file_delete_delay_ms=50,
)
CLEANER = CleanerConfig(dedupe_buffer_bytes=1 << 16, io_buffer_bytes=256, backoff_ms=40)


class Stored(NamedTuple):
    offset: int
    key: bytes | None
    value: bytes | None


class CleanedBroker(Broker):
    """A broker with its cleaner. `set_config` changes the configuration of all topics at once."""

    def __init__(
        self,
        fs: SimFileSystem,
        clock: SimClock,
        seed: int = 1,
        config: TopicConfig = COMPACTED,
        cleaner: CleanerConfig = CLEANER,
        paths: Sequence[str] = ("/disk/logs",),
    ) -> None:
        super().__init__(fs, clock, paths, config)
        self.housekeeping = SimHousekeeping(fs, seed, clean_log)
        self.seed = seed
        self.cleaner_config = cleaner
        self.cleaner: LogCleaner

    def start(self) -> "CleanedBroker":
        super().start()
        entropy = SimEntropy(self.seed)
        self.cleaner = LogCleaner(self.logs, self.housekeeping, entropy, self.cleaner_config, self.now)
        return self

    # The loop

    def turn(self) -> None:
        """Run one step of a worker, and one turn of the loop."""
        self.housekeeping.step()
        self.cleaner.tick(self.now)
        self.logs.work(self.now)
        self.pump()

    def pump(self) -> None:
        self.clock.advance(TURN_MS)
        completions = self.fs.completions()
        self.logs.complete(completions, self.now)
        self.cleaner.complete(completions, self.now)

    def settle(self) -> None:
        while self.logs.work(self.now) or self.logs.is_flushing:
            self.pump()

    def turns(self, count: int) -> None:
        for _ in range(count):
            self.turn()

    def clean(self) -> None:
        """Run turns until the cleaner has nothing left that is due."""
        rests = 0
        for _ in range(TURNS_MAX):
            self.turn()
            rests = 0 if self.cleaner.is_busy else rests + 1
            if rests > 2 * self.cleaner_config.backoff_ms // TURN_MS + 4:
                return
        raise AssertionError("the cleaner never rests")

    def stop(self) -> None:
        self.cleaner.call_off_all()
        while self.cleaner.is_busy:
            self.turn()
        self.housekeeping.stop()
        super().stop()

    # Records

    def put(self, rows: Sequence[Row], partition: TopicPartition = T0, **options: Any) -> int:
        """Append one batch in a turn of its own, replicated everywhere at once; return its base offset."""
        builder = BatchBuilder(options=BatchOptions(**options))
        for key, value in rows:
            builder.append(self.now, key, value)
        append = self.stage(builder.build(), partition)
        assert isinstance(append, Append), append
        self.commit(partition)
        assert append.code is ErrorCode.NONE
        log = self.log(partition)
        log.update_high_watermark(log.log_end_offset)
        return append.first_offset

    def make_durable(self, *partitions: TopicPartition) -> None:
        """Flush what was appended and write the checkpoint of it, after which it may be cleaned."""
        self.flush(*partitions)
        self.checkpoint()

    def fill(self, partition: TopicPartition = T0, keys: int = 3, batches: int = 12) -> None:
        """Write several closed segments of a few keys, and an active one; make them durable."""
        self.flush(partition)  # before that a new log does not roll
        for i in range(batches):
            self.put([(b"k%d" % (n % keys), b"%d.%d" % (i, n)) for n in (i, i + 1)], partition)
        self.log(partition).roll(self.now)
        self.put([(b"last", b"%d" % batches)], partition)
        self.make_durable(partition)

    def set_config(self, partition: TopicPartition = T0, **changes: Any) -> None:
        log = self.log(partition)
        log.config = replace(log.config, **changes)


def stored(log: Log) -> list[Stored]:
    """Return every record, read as a follower would; checksums are checked."""
    found: list[Stored] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        answer = read(log, offset, 300, FetchIsolation.LOG_END)
        assert answer.code is ErrorCode.NONE
        if answer.segment is None:
            break
        for batch in batches(answer.read_all()):
            batch.check_crc()
            found += [Stored(each.offset, each.key, each.value) for each in batch.records() if each.offset >= offset]
            end = batch.header.last_offset + 1
        offset = end
    return found


def latest(records: Iterable[Stored]) -> Mapping[bytes | None, bytes | None]:
    """Return the last value of each key, without the keys that were deleted."""
    table = {each.key: each.value for each in records}
    return {key: value for key, value in table.items() if value is not None}


def names(broker: Broker, ending: str, partition: TopicPartition = T0) -> list[str]:
    return [name for name in broker.fs.list_directory(broker.log(partition).directory) if name.endswith(ending)]
