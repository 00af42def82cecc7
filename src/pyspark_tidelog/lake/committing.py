"""Commits a batch to the archive exactly once, whenever the driver dies.

    tasks       staged files written, synced                                 nothing is visible
    1           intent written, synced, renamed to its name, directory synced: THE BATCH IS DECIDED ON
    2           staged files renamed to their final names, directories synced (targets before the source)
    3           intent renamed to manifest, directories synced
    4           what else lies in staging removed

If the driver dies before 1, a replay starts anew, and step 4 removes the files of the first attempt. After 1 the next
`recover` or replay finishes the batch from the intent, whatever part of 2 was done: each file is in staging or under
its final name. Step 4 removes the replay's own files. After 3 a replay finds the manifest and writes nothing. The name
in the paths stands for the query: batch 7 of one is not batch 7 of another that archives to the same directory.

No file of the archive is ever replaced: a batch whose offsets are there already, from another query or from a topic
that was deleted and made again, is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.files import LakeFiles
from pyspark_tidelog.lake.layout import (
    INTENTS,
    MANIFESTS,
    ArchivedRange,
    WrittenPart,
    intent_path,
    manifest_path,
    parse_file_name,
    staging_directory,
)
from pyspark_tidelog.lake.manifest import Manifest, parse_manifest
from pyspark_tidelog.lake.refusals import require_one_kind, require_same, require_same_query, require_staged
from pyspark_tidelog.sink.decisions import UNKNOWN, Origin


@dataclass(slots=True)
class Committer:
    """The driver's writer to an archive, for the batches of one query, whose `name` is in the paths."""

    files: LakeFiles
    name: str
    _made: dict[str, None] = field(default_factory=dict)  # directories that this process has made and synced
    _ends: dict[str, int] = field(default_factory=dict)  # directory of a partition: where its last file ends

    def commit(self, batch_id: int, ranges: Sequence[ArchivedRange]) -> Manifest:
        """Put these staged files into the archive. If the batch is there already, its staged files are only removed."""
        in_order = tuple(sorted(ranges, key=lambda each: each.final_path))
        return self._commit(Manifest(self.name, batch_id, in_order))

    def commit_rows(
        self, query_id: str, batch_id: int, parts: Sequence[WrittenPart], origin: Origin = UNKNOWN
    ) -> Manifest:
        """Put staged files with rows of a DataFrame into the archive, as `commit` does with ranges of offsets."""
        return self._commit(Manifest(self.name, batch_id, parts=tuple(parts), query_id=query_id, origin=origin))

    def done_by(self, query_id: str, batch_id: int, origin: Origin = UNKNOWN) -> Manifest | None:
        """Return the manifest of a batch that is in the archive, after finishing it if it was only decided on; None
        where the batch is still to be written."""
        self.recover()
        manifest = self._done(batch_id)
        if manifest is not None:
            require_same_query(manifest, query_id, origin)
            self._clean()
        return manifest

    def _commit(self, wanted: Manifest) -> Manifest:
        self.recover()
        done = self._done(wanted.batch_id)
        if done is None:
            self._require_new(wanted)
            self._intend(wanted)
            self._finish(wanted)
        else:
            require_same(done, wanted)
        self._clean()
        return done or wanted

    def recover(self) -> None:
        """Finish the batches that this query had decided on when its driver died. Those of other queries are left
        alone: their drivers may be alive, and about to finish them."""
        for batch_id in pending(self.files, self.name):
            path = intent_path(self.name, batch_id)
            self._finish(parse_manifest(self.files.read(path), path))

    def next_batch_id(self) -> int:
        """Return the number after the last batch of this name, for `archive`, which has no query that counts
        batches."""
        names = self.files.names(f"{MANIFESTS}/{self.name}")
        return 1 + max((int(each.removesuffix(".json")) for each in names), default=-1)

    def _done(self, batch_id: int) -> Manifest | None:
        path = manifest_path(self.name, batch_id)
        return parse_manifest(self.files.read(path), path) if self.files.exists(path) else None

    def _intend(self, manifest: Manifest) -> None:
        self._make(staging_directory(self.name))  # a task syncs the names in this directory, not the directory's own
        self._make(INTENTS)
        path = intent_path(manifest.name, manifest.batch_id)
        self.files.write(f"{path}.new", manifest.to_bytes())
        self.files.sync(f"{path}.new")
        self.files.rename(f"{path}.new", path)
        self.files.sync_directory(INTENTS)

    def _finish(self, manifest: Manifest) -> None:
        for each in manifest.files:
            self._topic_partition(each, manifest)
        for directory in dict.fromkeys(each.directory for each in manifest.files):
            self.files.sync_directory(directory)
        if manifest.files:
            self.files.sync_directory(staging_directory(manifest.name))
        self._make(f"{MANIFESTS}/{manifest.name}")
        done = manifest_path(manifest.name, manifest.batch_id)
        self.files.rename(intent_path(manifest.name, manifest.batch_id), done)
        self.files.sync_directory(f"{MANIFESTS}/{manifest.name}")
        self.files.sync_directory(INTENTS)

    def _topic_partition(self, each: ArchivedRange | WrittenPart, manifest: Manifest) -> None:
        assert each.path is not None
        self._make(each.directory)
        if self.files.exists(each.path):
            self.files.rename(each.path, each.final_path)
        elif not self.files.exists(each.final_path):
            intent = intent_path(manifest.name, manifest.batch_id)
            raise LakeError(
                f"batch {manifest.batch_id} of {manifest.name} is decided on, but its file {each.path} is gone",
                each.contents,
                f"restore the file, or remove {intent} to have the batch written anew",
            )
        if isinstance(each, ArchivedRange) and each.directory in self._ends:  # else the directory was not listed yet
            self._ends[each.directory] = max(self._ends[each.directory], each.until_offset)

    def _make(self, directory: str) -> None:
        """Make a directory and those above it durable, even if a driver that died had made them and synced nothing."""
        if not directory or directory in self._made:
            return  # "", the archive's own directory, is there since a task has staged its file
        self.files.make_directory(directory)
        parts = directory.split("/")
        for depth in range(len(parts)):
            self.files.sync_directory("/".join(parts[:depth]))
        self._made[directory] = None

    def _require_new(self, manifest: Manifest) -> None:
        for before, after in pairwise(manifest.ranges):
            if before.directory == after.directory and after.from_offset < before.until_offset:
                overlap = f"offset {after.from_offset} of {after.topic_partition}"
                what = f"two tasks of batch {manifest.batch_id} archived {overlap}"
                raise LakeError(what, manifest.name)
        require_one_kind(self.files, manifest)
        require_staged(self.files, manifest)
        for each in manifest.ranges:
            if each.path is not None:
                self._require_absent(each)
        for part in manifest.parts:
            if self.files.exists(part.final_path):
                what = f"{part.contents} is in the archive already, and in no manifest"
                raise LakeError(what, part.final_path, "restore the manifest, or move the file away")

    def _require_absent(self, each: ArchivedRange) -> None:
        """Refuse a range of which the archive has offsets already. While offsets grow this is one comparison; the
        directory is listed at the first batch, and when offsets do not grow."""
        if each.from_offset >= self._ends.get(each.directory, each.from_offset + 1):
            return
        spans = [span for name in self.files.names(each.directory) if (span := parse_file_name(name))]
        self._ends[each.directory] = max((until for _, until in spans), default=0)
        for start, until in spans:
            if start < each.until_offset and each.from_offset < until:
                raise LakeError(
                    f"{each.contents} are in the archive already",
                    f"offsets {start} to {until}, from another batch or query",
                    "archive to another directory, or begin where it ends: startingOffsets, with what "
                    "pyspark_tidelog.lake.archived_until says",
                )

    def _clean(self) -> None:
        """Remove the staged files of attempts that were not committed. The batch is over, so no task of this query is
        still writing one."""
        directory = staging_directory(self.name)
        for name in self.files.names(directory):
            self.files.remove(f"{directory}/{name}")


def pending(files: LakeFiles, name: str) -> list[int]:
    """Return the batches that are decided on and not done. An intent that is still being written has another name."""
    pattern = re.compile(re.escape(name) + r"\.(\d+)\.json")
    return sorted(int(match[1]) for each in files.names(INTENTS) if (match := pattern.fullmatch(each)))
