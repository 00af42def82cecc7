"""The description of what one batch put into the archive. The same text is first the intent (the batch is decided on,
its files are being moved) and then the manifest (the batch is done): the rename between the two says that nothing is
left to do.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Final

from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.layout import ArchivedRange, WrittenPart
from pyspark_tidelog.sink.decisions import UNKNOWN, Origin

VERSION: Final = 1
FIELDS: Final = tuple(each.name for each in fields(ArchivedRange))
PART_FIELDS: Final = tuple(each.name for each in fields(WrittenPart))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one batch: `ranges` for an archive of topics, `parts` and the query that wrote them for a
    DataFrame."""

    name: str
    batch_id: int
    ranges: tuple[ArchivedRange, ...] = ()
    parts: tuple[WrittenPart, ...] = ()
    query_id: str | None = None
    origin: Origin = UNKNOWN  # for `parts`: which batch of which checkpoint they are

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.files)

    @property
    def files(self) -> list[ArchivedRange | WrittenPart]:
        contents: list[ArchivedRange | WrittenPart] = [*self.ranges, *self.parts]
        return [each for each in contents if each.path is not None]

    def to_bytes(self) -> bytes:
        content = {"version": VERSION, "name": self.name, "batch_id": self.batch_id, "rows": self.rows}
        if self.query_id is None:
            more: dict[str, object] = {"ranges": _told(self.ranges)}
        else:
            checkpoint_id, digest = self.origin
            more = {"query_id": self.query_id, "checkpoint": checkpoint_id, "offsets": digest}
            more["parts"] = _told(self.parts)
        return (json.dumps(content | more, indent=1) + "\n").encode()


def _told(files: Iterable[ArchivedRange | WrittenPart]) -> list[dict[str, object]]:
    return [asdict(each) | {"file": each.final_path if each.path else None} for each in files]


def parse_manifest(content: bytes, path: str) -> Manifest:
    try:
        given = json.loads(content)
        if given["version"] != VERSION:
            raise LakeError(f"{path} has version {given['version']}", step="read it with the Tidelog that wrote it")
        if "query_id" in given:
            parts = tuple(WrittenPart(**{name: each[name] for name in PART_FIELDS}) for each in given["parts"])
            origin = Origin(given.get("checkpoint", ""), given.get("offsets", ""))  # former versions did not say
            return Manifest(given["name"], given["batch_id"], parts=parts, query_id=given["query_id"], origin=origin)
        ranges = tuple(ArchivedRange(**{name: each[name] for name in FIELDS}) for each in given["ranges"])
        return Manifest(given["name"], given["batch_id"], ranges)
    except (ValueError, KeyError, TypeError) as error:
        raise LakeError(f"{path} is not a manifest: {error!r}", step="restore it from a copy of the archive") from None


def coverage(ranges: Iterable[ArchivedRange]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Return the offsets of each partition with adjacent ranges joined: attempts that have split them differently
    compare equal."""
    joined: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for each in sorted(ranges, key=lambda one: (one.topic, one.partition, one.from_offset)):
        spans = joined.setdefault((each.topic, each.partition), [])
        if spans and spans[-1][1] == each.from_offset:
            spans[-1] = (spans[-1][0], each.until_offset)
        else:
            spans.append((each.from_offset, each.until_offset))
    return joined


def topic_ids(ranges: Iterable[ArchivedRange]) -> dict[str, str]:
    return {each.topic: each.topic_id for each in ranges if each.topic_id is not None}
