"""File and directory names of a log, exactly Kafka's.

    <log dir>/<topic>-<partition>/00000000000000000042.log

The 20 digits are the base offset. A second suffix says that the file is on its way: `.deleted` (waits for its
deletion), `.cleaned` (a compaction is writing it), `.swap` (a compaction is complete and replaces what is there).
Directories have states too: `<topic>-<partition>.<32 hex digits>-delete`, `-future` (being filled on another disk) and
`-stray` (the cluster does not know the replica).
"""

from enum import Enum
from typing import Final, NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.storage.errors import InvalidNameError

LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_INDEX_SUFFIX: Final = ".timeindex"
TRANSACTION_INDEX_SUFFIX: Final = ".txnindex"
SNAPSHOT_SUFFIX: Final = ".snapshot"
SEGMENT_KINDS: Final = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
KINDS: Final = (*SEGMENT_KINDS, SNAPSHOT_SUFFIX)

NO_SUFFIX: Final = ""
DELETED_SUFFIX: Final = ".deleted"
CLEANED_SUFFIX: Final = ".cleaned"
SWAP_SUFFIX: Final = ".swap"
STATES: Final = (NO_SUFFIX, DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)

DIGITS: Final = 20
NAME_BYTES_MAX: Final = 255
MAX_INT32: Final = 2**31 - 1
MAX_INT64: Final = 2**63 - 1


class SegmentName(NamedTuple):
    base_offset: int
    kind: str  # one of KINDS
    state: str  # one of STATES


def segment_name(base_offset: int, kind: str, state: str = NO_SUFFIX) -> str:
    return f"{base_offset:020d}{kind}{state}"


def parse_segment_name(name: str) -> SegmentName | None:
    """Return the parts of the name; None for what is not a file of a segment (checkpoints and the like share the
    directory)."""
    digits, dot, rest = name.partition(".")
    first, dot, second = rest.partition(".")
    kind, state = f".{first}", f".{second}" if dot else NO_SUFFIX
    if kind not in KINDS or state not in STATES or not is_number(digits) or len(digits) != DIGITS:
        return None
    base_offset = int(digits)
    return SegmentName(base_offset, kind, state) if base_offset <= MAX_INT64 else None


def is_number(text: str) -> bool:
    """Tell whether the text is ASCII digits: `isdigit` alone also takes other alphabets' digits, which `int` reads."""
    return text.isascii() and text.isdigit()


class DirectoryState(Enum):
    CURRENT = ""
    DELETE = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


class PartitionDirectory(NamedTuple):
    topic_partition: TopicPartition
    state: DirectoryState


def partition_directory(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def marked_directory(topic: str, partition: int, unique: str, state: DirectoryState) -> str:
    """Return the name of a directory that is to be deleted, is being filled, or is stray. `unique` are 32 hex digits,
    with which a topic can be deleted and made again before its first directory is gone. A long topic name is cut to
    fit; but not in a future directory, which gets its plain name back from it."""
    ending = f"-{partition}.{unique}{state.value}"
    room = len(topic) if state is DirectoryState.FUTURE else NAME_BYTES_MAX - len(ending)
    return topic[:room] + ending


def parse_partition_directory(name: str) -> PartitionDirectory:
    """Return the partition and state that the name says. Raises InvalidNameError for anything else: the caller knows
    which names in a log directory are not partitions."""
    state = _state_of(name)
    full = name
    if state is not DirectoryState.CURRENT:
        full, dot, unique = name.removesuffix(state.value).rpartition(".")
        if not dot or not unique:
            raise InvalidNameError(name, f"a {state.value} directory without its unique part")
    topic, _, partition = full.rpartition("-")
    if not topic or not is_number(partition) or int(partition) > MAX_INT32:
        raise InvalidNameError(name, "not the name of a partition's directory (topic-partition)")
    return PartitionDirectory(TopicPartition(topic, int(partition)), state)


def unique_of(name: str) -> str:
    """Return the unique part of the name of a marked directory."""
    return name.removesuffix(_state_of(name).value).rpartition(".")[2]


def _state_of(name: str) -> DirectoryState:
    for state in (DirectoryState.DELETE, DirectoryState.FUTURE, DirectoryState.STRAY):
        if name.endswith(state.value):
            return state
    return DirectoryState.CURRENT
