"""What a streaming query's checkpoint says of a batch: which query it belongs to, and which offsets it is made of.

    metadata         {"id":"..."}: the id of the query, the same over restarts and in a copy
    offsets/<batch>  written before the batch runs, and reused when it is run again: a version, a line of Spark's own
                     (with the time), and a line for each source

A batch that was planned anew, after a rewind or in a copy that went on by itself, has another file `offsets/<batch>`:
at least the time in it differs. Spark reads and writes a checkpoint through Hadoop. Here Python reads the files of a
local path (which may be a mounted one), and in `foreachBatch` the session's own JVM reads those of any other. A file
that cannot be read is no error: batches are then told apart by their numbers alone.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pyspark_tidelog.sink.decisions import UNKNOWN, Origin

LOGGER: Final = logging.getLogger("pyspark_tidelog")
DIGEST_CHARACTERS: Final = 32
HEAD_LINES: Final = 2  # lines of `offsets/<batch>` before those of the sources
# How many batches before the current one are looked at, too. The last decision is mostly of the batch just before; a
# batch without rows may have left no decision.
FORMER_MAX: Final = 4

# Returns the content of a file, by its path in the checkpoint's directory; None where it cannot be read.
Files = Callable[[str], bytes | None]


class CheckpointBatch(NamedTuple):
    """A batch as its checkpoint describes it."""

    origin: Origin = UNKNOWN
    source_topics: tuple[str, ...] = ()
    former: Mapping[int, str] = {}  # digests of the batches before it, by their numbers


def query_id_of(files: Files) -> str:
    """Return the id of the query that a checkpoint belongs to; "" where it cannot be read."""
    content = files("metadata")
    try:
        return "" if content is None else str(json.loads(content)["id"])
    except (ValueError, KeyError, TypeError):
        return ""


def batch_of(files: Files, batch_id: int, query_id: str = "") -> CheckpointBatch:
    """Return what a checkpoint says of a batch. `query_id`: the query that the checkpoint should belong to, where it is
    known; the checkpoint of another query is not looked into."""
    found = query_id_of(files)
    if query_id and found != query_id:
        if found:
            LOGGER.warning("the checkpoint is of query %s, and %s writes: it is not looked into", found, query_id)
        return CheckpointBatch(Origin(query_id))
    content = files(f"offsets/{batch_id}")
    if content is None:
        return CheckpointBatch(Origin(found))
    return CheckpointBatch(Origin(found, _digest(content)), _topics(content), _former(files, batch_id))


def _former(files: Files, batch_id: int) -> dict[int, str]:
    digests: dict[int, str] = {}
    for number in range(batch_id - 1, max(-1, batch_id - 1 - FORMER_MAX), -1):
        content = files(f"offsets/{number}")
        if content is None:
            break
        digests[number] = _digest(content)
    return digests


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGEST_CHARACTERS]


def _topics(content: bytes) -> tuple[str, ...]:
    """Return the topics of those sources whose offsets are by topic and partition: ours, and Spark's own connector."""
    topics: set[str] = set()
    for line in content.decode(errors="replace").splitlines()[HEAD_LINES:]:
        try:
            offsets = json.loads(line)
        except ValueError:
            continue
        if isinstance(offsets, dict):
            topics |= {topic for topic, partitions in offsets.items() if _is_by_partition(partitions)}
    return tuple(sorted(topics))


def _is_by_partition(found: object) -> bool:
    return isinstance(found, dict) and all(key.isdigit() and isinstance(value, int) for key, value in found.items())


def local_files(location: str | None) -> Files:
    """Return a reader of the files below a path or a `file:` URI. On any other file system it finds none."""
    root = _local_root(location or "")

    def read(name: str) -> bytes | None:
        try:
            return None if root is None else (root / name).read_bytes()
        except OSError:
            return None

    return read


def _local_root(location: str) -> Path | None:
    """Return the directory of a location, None where it is not local. A `file:` location may be a Hadoop path, which is
    not percent-encoded, or a URI, which is: the path that exists is taken."""
    if not location:
        return None
    if "://" not in location and not location.startswith("file:"):
        return Path(location)
    found = urlsplit(location)
    if found.scheme != "file" or found.netloc not in ("", "localhost"):
        return None
    plain = Path(found.path)
    return plain if plain.exists() else Path(unquote(found.path))
