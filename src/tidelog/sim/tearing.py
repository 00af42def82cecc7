"""What a power loss leaves of one file's unsynced operations.

The kernel writes pages back when it likes and the device reorders what it is given, so of the unsynced operations any
part may be there: every sector (512 bytes) is on its own, as old as the last sync or as new as any later version of
it. The file's size is metadata with a life of its own: it may have survived without the bytes (then they are zeros, or
whatever deleted file lay there before) or the bytes without it.

Drawing each sector's fate independently would hardly ever produce the plain cases, so a crash first draws a mood for
each file and the details within it:

    NOTHING  nothing survived                    ALL      everything did, by luck
    PREFIX   the first operations did, the next one perhaps up to some byte: what a log sees most
    SECTORS  any subset of sectors, any size in between
    BYTES    as SECTORS, and sectors torn inside: some bytes of a version new, the others old
"""

from enum import Enum
from random import Random

from tidelog.sim.pages import Image, Operation, SimInode, Truncate, Write

SECTOR_BYTES = 512


class Mood(Enum):
    NOTHING = "nothing"
    ALL = "all"
    PREFIX = "prefix"
    SECTORS = "sectors"
    BYTES = "bytes"


MOODS = tuple(Mood)


def survivors(inode: SimInode, random: Random, stale: bytes) -> tuple[Mood, Image]:
    """Return the file after a power loss. Unwritten sectors may show `stale` bytes; where that is empty, zeros."""
    if not inode.unsynced:
        return Mood.ALL, inode.medium.copy()
    return tear(inode.medium, inode.unsynced, random, stale)


def tear(medium: Image, operations: list[Operation], random: Random, stale: bytes) -> tuple[Mood, Image]:
    """Return the mood that was drawn, and what it leaves of the operations."""
    mood = random.choice(MOODS)
    match mood:
        case Mood.NOTHING:
            return mood, medium.copy()
        case Mood.ALL:
            return mood, _prefix(medium, operations)
        case Mood.PREFIX:
            count = random.randrange(len(operations))
            survived = _prefix(medium, operations[:count])
            if random.random() < 0.5:
                _tear_at_byte(operations[count], survived, random)
            return mood, survived
        case Mood.SECTORS | Mood.BYTES:
            return mood, _subset(medium, operations, random, mood is Mood.BYTES, stale)


def _prefix(medium: Image, operations: list[Operation]) -> Image:
    survived = medium.copy()
    for operation in operations:
        operation.apply(survived)
    return survived


def _tear_at_byte(operation: Operation, image: Image, random: Random) -> None:
    """Let a write stop at any of its bytes. A truncation is one change of one number: it happened or it did not."""
    if isinstance(operation, Write):
        image.write(operation.position, operation.data[: random.randrange(len(operation.data))])


def _subset(medium: Image, operations: list[Operation], random: Random, torn: bool, stale: bytes) -> Image:
    size = _any_size(medium.size, operations, random)
    survived = _unwritten(medium, operations, stale)
    kept = _versions_kept(operations, random)
    seen: dict[int, int] = {}
    for operation in operations:
        for sector, start, end in _sectors(operation):
            seen[sector] = version = seen.get(sector, 0) + 1
            if version <= kept[sector]:
                survived.data[start:end] = _bytes_of(operation, start, end)
            elif torn and version == kept[sector] + 1 and random.random() < 0.5:
                _tear_sector(survived.data, operation, start, end, random)
    survived.truncate(size)
    return survived


def _any_size(size: int, operations: list[Operation], random: Random) -> int:
    """Return any size that the file has had since the last sync, or one on the way from one to the next."""
    sizes = [size]
    for operation in operations:
        size = operation.size if isinstance(operation, Truncate) else max(size, _extent(operation)[1])
        sizes.append(size)
    step = random.randrange(len(sizes))
    following = sizes[min(step + 1, len(sizes) - 1)]
    if following > sizes[step] and random.random() < 0.25:
        return random.randrange(sizes[step], following)
    return sizes[step]


def _unwritten(medium: Image, operations: list[Operation], stale: bytes) -> Image:
    """Return the medium with room for all that was to be written. The new room shows zeros or what lay there before; a
    hole that nobody wrote to is zeros in any case, because no place on the disk belongs to it."""
    survived = medium.copy()
    known = len(survived.data)
    for operation in operations:
        start, end = _extent(operation)
        start = max(start, known)
        if isinstance(operation, Write) and start < end:
            shown = (stale or b"\0") * ((end - start) // max(1, len(stale)) + 1)
            survived.write(start, shown[: end - start])
    return survived


def _versions_kept(operations: list[Operation], random: Random) -> dict[int, int]:
    """Return for each sector how many of the operations on it the medium has seen: versions do not overtake each other
    within a sector, as each write-back carries the whole of it."""
    versions: dict[int, int] = {}
    for operation in operations:
        for sector, _start, _end in _sectors(operation):
            versions[sector] = versions.get(sector, 0) + 1
    likelihood = random.random()
    return {
        sector: count if random.random() < likelihood else random.randrange(count) for sector, count in versions.items()
    }


def _tear_sector(data: bytearray, operation: Operation, start: int, end: int, random: Random) -> None:
    middle = random.randrange(start, end)
    if random.random() < 0.5:
        data[start:middle] = _bytes_of(operation, start, middle)
    else:
        data[middle:end] = _bytes_of(operation, middle, end)


def _extent(operation: Operation) -> tuple[int, int]:
    """Return the bytes that an operation changes. A truncation zeroes what it cuts; extending only changes the size."""
    if isinstance(operation, Write):
        return operation.position, operation.position + len(operation.data)
    return operation.size, max(operation.size, operation.written_before)


def _bytes_of(operation: Operation, start: int, end: int) -> bytes:
    if isinstance(operation, Write):
        return operation.data[start - operation.position : end - operation.position]
    return bytes(end - start)


def _sectors(operation: Operation) -> list[tuple[int, int, int]]:
    """Return the sectors that an operation touches, each with the bytes of it that change."""
    start, end = _extent(operation)
    return [
        (sector, max(start, sector * SECTOR_BYTES), min(end, (sector + 1) * SECTOR_BYTES))
        for sector in range(start // SECTOR_BYTES, -(-end // SECTOR_BYTES))
        if start < end
    ]
