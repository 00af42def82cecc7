"""Our logs on a real disk, as a broker would hold them."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tidelog.config.layers import Layers
from tidelog.config.topic_config import TopicConfig, resolve_topic_config
from tidelog.io.files import PosixFileSystem
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.control import EndTransactionMarker
from tidelog.records.record import Record
from tidelog.storage.append.outcome import AppendOrigin
from tidelog.storage.directories.loading import LoadProgress
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.log import Log
from tidelog.storage.producers.state import ProducerStateConfig
from tidelog.storage.segment.descriptors import Descriptors

BROKER_EPOCH = 99


class Node:
    def __init__(self, fs: PosixFileSystem, logs: Logs, progress: LoadProgress) -> None:
        self.fs = fs
        self.logs = logs
        self.progress = progress

    def log(self, topic: str) -> Log:
        """Return the topic's log, creating it if need be. A new one is flushed first, because it would not roll before
        that."""
        topic_partition = TopicPartition(topic, 0)
        log: Log | ErrorCode | None = self.logs.get(topic_partition)
        if log is None:
            log = self.logs.create(topic_partition, Uuid(topic.encode().ljust(16, b".")), now_ms())
            assert isinstance(log, Log), log
            log.flush.ask(log)
            self.settle()
        assert isinstance(log, Log)
        return log

    def settle(self) -> None:
        """Flush the logs, and wait until no flush is under way."""
        self.logs.flush_due(now_ms())
        while self.logs.is_flushing:
            self.logs.complete(self.fs.completions(), now_ms())
            self.logs.work(now_ms())
            time.sleep(0.001)

    def append(self, topic: str, records: Sequence[Record], options: BatchOptions | None = None) -> int:
        """Append one batch and return its base offset. The batch is written when this returns."""
        builder = BatchBuilder(options=options or BatchOptions())
        for record in records:
            builder.append(record.timestamp, record.key, record.value, record.headers)
        return self._write(topic, builder.build(), AppendOrigin.CLIENT)

    def end_transaction(self, topic: str, producer_id: int, epoch: int, *, committed: bool) -> int:
        options = BatchOptions(producer_id=producer_id, producer_epoch=epoch, is_transactional=True, is_control=True)
        builder = BatchBuilder(options=options)
        builder.append_marker(now_ms(), EndTransactionMarker(committed, coordinator_epoch=0))
        return self._write(topic, builder.build(), AppendOrigin.COORDINATOR)

    def _write(self, topic: str, batch: bytes, origin: AppendOrigin) -> int:
        log = self.log(topic)
        epoch = log.epochs.latest_epoch or 0
        version = 1 if origin is AppendOrigin.COORDINATOR else None
        buffer = memoryview(bytearray(batch))
        append = log.append_as_leader(buffer, 0, len(buffer), epoch, now_ms(), origin, transaction_version=version)
        assert isinstance(append, Append), append
        self.logs.commit([log], now_ms())
        assert append.code is ErrorCode.NONE
        log.update_high_watermark(log.log_end_offset)
        return append.first_offset


def now_ms() -> int:
    return int(time.time() * 1000)


@contextmanager
def our_node(directory: Path, **changes: object) -> Iterator[Node]:
    """Run a node on the directory and stop it in order. `changes` apply to the configuration of all topics."""
    fs = PosixFileSystem()
    config: TopicConfig = replace(resolve_topic_config({}, Layers()), **changes)  # type: ignore[arg-type]
    unasked = ProducerStateConfig(verification_enabled=False)  # there is no coordinator to ask
    logs = Logs(LogContext(Descriptors(fs), unasked), [str(directory)], lambda _topic: config)
    *_, progress = logs.load(now_ms())
    try:
        node = Node(fs, logs, progress)
        yield node
        node.settle()
        logs.close(BROKER_EPOCH, now_ms())
        assert not logs.failures
    finally:
        fs.close()
