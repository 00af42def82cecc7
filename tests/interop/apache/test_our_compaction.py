"""A log that our cleaner compacted, read by Apache's tool, batch for batch and index entry for index entry."""

import random
from pathlib import Path

from tests.interop.apache.node import now_ms, our_node
from tests.interop.apache.printed import apache_dump, facts_only, in_apaches_words, our_dump

from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import NodeId, TopicPartition, Uuid
from tidelog.records.builder import BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.record import Record
from tidelog.storage.checkpoints.meta_properties import MetaProperties, write_meta_properties
from tidelog.storage.checkpoints.text import CLEANER_OFFSET_CHECKPOINT, write_offsets
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.job import CleanedSegment, CleanerSettings, CleaningJob, SegmentFacts
from tidelog.storage.cleaner.swap import swap
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.verify import VerifyOptions, verify_directory
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import IndexSettings

KEYS = 40
SEGMENT_BYTES = 30_000


def test_apaches_tool_reads_what_our_cleaner_writes(jars: Path, tmp_path: Path) -> None:
    fs = PosixFileSystem()
    write_meta_properties(fs, str(tmp_path), MetaProperties(1, "cluster", NodeId(1), Uuid(b"d" * 16)))
    written = write_table(tmp_path)
    partition = tmp_path / "table-0"
    cleaned_to = clean(fs, partition)
    write_offsets(fs, str(tmp_path / CLEANER_OFFSET_CHECKPOINT), {TopicPartition("table", 0): cleaned_to})

    items = verify_directory(fs, str(tmp_path), VerifyOptions(check_records=True))
    assert [str(item) for item in items if isinstance(item, Finding) and "left over" not in item.reason] == []
    logs = sorted(partition.glob("*.log"))
    left = [row.values for log in logs for row in our_dump(log) if row.kind == "record"]
    closed = {key: offset for offset, (key, _) in enumerate(written) if offset < cleaned_to}
    assert [row["offset"] for row in left] == sorted(closed.values()) + list(range(cleaned_to, len(written)))
    assert [(row["key"], row["value"]) for row in left] == [written[row["offset"]] for row in left]  # type: ignore[call-overload]

    for path, lines in apache_dump(jars, logs, "--deep-iteration", compacted=True).items():
        assert in_apaches_words(our_dump(Path(path))) == facts_only(lines)
    indexes = [path for kind in ("*.index", "*.timeindex") for path in sorted(partition.glob(kind))]
    apache_dump(jars, indexes, compacted=True)


def write_table(directory: Path) -> list[tuple[bytes, bytes | None]]:
    noise = random.Random(9)
    written: list[tuple[bytes, bytes | None]] = []
    with our_node(directory, segment_bytes=SEGMENT_BYTES, cleanup_policy=("compact",)) as node:
        for number in range(60):
            keys = [b"key-%d" % noise.randrange(KEYS) for _ in range(10)]
            added = [(key, None if noise.randrange(9) == 0 else noise.randbytes(200)) for key in keys]
            options = BatchOptions(compression=list(CompressionType)[number % 5])
            node.append("table", [Record(0, now_ms(), *each) for each in added], options)
            written += added
    return written


def clean(fs: PosixFileSystem, partition: Path) -> int:
    """Clean everything but the active segment; return the base offset of that one."""
    bases = sorted(int(path.stem) for path in partition.glob("*.log"))
    assert len(bases) > 3
    job = CleaningJob(
        str(partition),
        [SegmentFacts(base, (partition / f"{base:020d}.log").stat().st_size, now_ms()) for base in bases[:-1]],
        0,
        bases[-1],
        now_ms(),
        bytes(16),
        CleanerSettings(1 << 20, 0.9, 1 << 16, IndexSettings(1000, 1 << 20), 2 * SEGMENT_BYTES, 86_400_000),
    )
    descriptors = Descriptors(fs)
    for step in clean_log(fs, job):
        if isinstance(step, CleanedSegment):
            swap(descriptors, str(partition), step.base_offset, step.replaced)
    descriptors.close()
    return bases[-1]
