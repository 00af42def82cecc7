"""Kafka's text checkpoints: a version, the number of entries, an entry a line.

    recovery-point-offset-checkpoint   up to where a log is known to be on disk
    replication-offset-checkpoint      high watermarks
    log-start-offset-checkpoint        log start offsets that lie inside a segment
    cleaner-offset-checkpoint          up to where a log is compacted
        each line: topic partition offset
    leader-epoch-checkpoint            one log's epochs: epoch start_offset

A file is replaced as a whole, so one that ends early or says something else than its count was damaged; it is never
read as far as it goes. An empty file is empty: Apache's broker makes one before it has anything to write.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.ports.durable import replace_durably
from tidelog.ports.files import FileSystem
from tidelog.storage.checkpoints.errors import CorruptCheckpointError
from tidelog.storage.checkpoints.small_files import read_if_present

RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
REPLICATION_OFFSET_CHECKPOINT: Final = "replication-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT: Final = "log-start-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT: Final = "cleaner-offset-checkpoint"
LEADER_EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"

_VERSION: Final = "0"
_BLANKS: Final = re.compile(r"[ \t\f\v]+")
_DIGITS: Final = re.compile(r"[0-9]{1,19}")
_MAX_INT32: Final = 2**31 - 1
_MAX_INT64: Final = 2**63 - 1


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


def read_offsets(fs: FileSystem, path: str) -> dict[TopicPartition, int]:
    """Return the offsets in the file, none when there is no file. Raises CorruptCheckpointError for a file that can not
    be believed."""
    contents = read_if_present(fs, path)
    return {} if contents is None else decode_offsets(contents, path)


def write_offsets(fs: FileSystem, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    replace_durably(fs, path, encode_offsets(offsets))


def read_epochs(fs: FileSystem, path: str) -> list[EpochEntry]:
    """Return the leader epochs in the file, none when there is no file. Raises as `read_offsets` does."""
    contents = read_if_present(fs, path)
    return [] if contents is None else decode_epochs(contents, path)


def write_epochs(fs: FileSystem, path: str, entries: Iterable[EpochEntry]) -> None:
    replace_durably(fs, path, encode_epochs(entries))


def encode_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    return _encode([f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()])


def decode_offsets(contents: bytes, path: str) -> dict[TopicPartition, int]:
    offsets: dict[TopicPartition, int] = {}
    for line, fields in _decode(contents, path, 3):
        partition = TopicPartition(fields[0], _number(fields[1], _MAX_INT32, line, path))
        if partition in offsets:
            raise CorruptCheckpointError(path, f"line {line}: {partition} is there twice")
        offsets[partition] = _number(fields[2], _MAX_INT64, line, path)
    return offsets


def encode_epochs(entries: Iterable[EpochEntry]) -> bytes:
    return _encode([f"{epoch} {start_offset}" for epoch, start_offset in entries])


def decode_epochs(contents: bytes, path: str) -> list[EpochEntry]:
    return [
        EpochEntry(_number(fields[0], _MAX_INT32, line, path), _number(fields[1], _MAX_INT64, line, path))
        for line, fields in _decode(contents, path, 2)
    ]


def _encode(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in [_VERSION, str(len(lines)), *lines]).encode()


def _decode(contents: bytes, path: str, width: int) -> list[tuple[int, list[str]]]:
    """Return the line number and the fields of every entry."""
    if not contents:
        return []
    lines = _lines(contents, path)
    if lines[0] != _VERSION:
        raise CorruptCheckpointError(path, f"line 1: version {lines[0]!r} is unknown")
    if len(lines) < 2:
        raise CorruptCheckpointError(path, "it ends before the number of entries")
    count = _number(lines[1], _MAX_INT32, 2, path)
    if count != len(lines) - 2:
        raise CorruptCheckpointError(path, f"{len(lines) - 2} entries, but {count} are announced")
    return [(number, _fields(text, width, number, path)) for number, text in enumerate(lines[2:], 3)]


def _lines(contents: bytes, path: str) -> list[str]:
    try:
        text = contents.decode()
    except UnicodeDecodeError as error:
        raise CorruptCheckpointError(path, f"not UTF-8 at byte {error.start}") from error
    if not text.endswith("\n"):  # without this check a number that lost its last digits would pass
        raise CorruptCheckpointError(path, "the last line is cut")
    return text.replace("\r\n", "\n").split("\n")[:-1]


def _fields(text: str, width: int, line: int, path: str) -> list[str]:
    fields = _BLANKS.split(text)
    if len(fields) != width or not all(fields):
        raise CorruptCheckpointError(path, f"line {line}: {width} fields expected: {text!r}")
    return fields


def _number(text: str, maximum: int, line: int, path: str) -> int:
    if not _DIGITS.fullmatch(text) or int(text) > maximum:
        raise CorruptCheckpointError(path, f"line {line}: not a number from 0 to {maximum}: {text!r}")
    return int(text)
