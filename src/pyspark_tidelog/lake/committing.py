"""One batch into the archive, exactly once, whenever the driver dies.

    tasks       staged files written, synced                                 nothing is visible
    1           intent written, synced, renamed to its name, directory synced: THE BATCH IS DECIDED ON
    2           staged files renamed to their final names, directories synced (targets before the source)
    3           intent renamed to manifest, directories synced
    4           what else lies in staging removed

Before 1 a replay starts anew and its orphans go in 4. After 1 the batch is finished from the intent by whoever comes
next (`recover`, or the replay, whose own files then go in 4), whatever part of 2 was done: a file is in staging or in
its place. After 3 a replay finds the manifest and writes nothing. The name in the paths stands for the query: batch 7
of one is not batch 7 of another that archives to the same directory.

What is in the archive is never replaced: a batch whose offsets are there already, from another query or from a topic
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
    intent_path,
    manifest_path,
    parse_file_name,
    staging_directory,
)
from pyspark_tidelog.lake.manifest import Manifest, coverage, parse_manifest, topic_ids


@dataclass(slots=True)
class Committer:
    files: LakeFiles
    name: str
    _made: dict[str, None] = field(default_factory=dict)  # directories that this process has made and synced
    _ends: dict[str, int] = field(default_factory=dict)  # directory of a partition: where its last file ends

    def commit(self, batch_id: int, ranges: Sequence[ArchivedRange]) -> Manifest:
        """Put these staged files into the archive; for a batch that is there already, nothing but the cleaning."""
        self.recover()
        manifest = self._done(batch_id)
        if manifest is None:
            manifest = Manifest(self.name, batch_id, tuple(sorted(ranges, key=lambda each: each.final_path)))
            self._require_new(manifest)
            self._intend(manifest)
            self._finish(manifest)
        else:
            _require_same(manifest, ranges)
        self._clean()
        return manifest

    def recover(self) -> None:
        """Finish what this query had decided on when its driver died. Others may be alive, and at it themselves."""
        for batch_id in pending(self.files, self.name):
            path = intent_path(self.name, batch_id)
            self._finish(parse_manifest(self.files.read(path), path))

    def next_batch_id(self) -> int:
        """For one who archives by hand, without a query that counts."""
        names = self.files.names(f"{MANIFESTS}/{self.name}")
        return 1 + max((int(each.removesuffix(".json")) for each in names), default=-1)

    def _done(self, batch_id: int) -> Manifest | None:
        path = manifest_path(self.name, batch_id)
        return parse_manifest(self.files.read(path), path) if self.files.exists(path) else None

    def _intend(self, manifest: Manifest) -> None:
        self._make(INTENTS)
        path = intent_path(manifest.name, manifest.batch_id)
        self.files.write(f"{path}.new", manifest.to_bytes())
        self.files.sync(f"{path}.new")
        self.files.rename(f"{path}.new", path)
        self.files.sync_directory(INTENTS)

    def _finish(self, manifest: Manifest) -> None:
        for each in manifest.files:
            self._place(each, manifest)
        for directory in dict.fromkeys(each.directory for each in manifest.files):
            self.files.sync_directory(directory)
        if manifest.files:
            self.files.sync_directory(staging_directory(manifest.name))
        self._make(f"{MANIFESTS}/{manifest.name}")
        done = manifest_path(manifest.name, manifest.batch_id)
        self.files.rename(intent_path(manifest.name, manifest.batch_id), done)
        self.files.sync_directory(f"{MANIFESTS}/{manifest.name}")
        self.files.sync_directory(INTENTS)

    def _place(self, each: ArchivedRange, manifest: Manifest) -> None:
        assert each.path is not None
        self._make(each.directory)
        if self.files.exists(each.path):
            self.files.rename(each.path, each.final_path)
        elif not self.files.exists(each.final_path):
            intent = intent_path(manifest.name, manifest.batch_id)
            raise LakeError(
                f"batch {manifest.batch_id} of {manifest.name} is decided on, but its file {each.path} is gone",
                f"offsets {each.from_offset} to {each.until_offset} of {each.place}",
                f"restore the file, or remove {intent} to have the batch written anew",
            )
        if each.directory in self._ends:  # else nobody has looked yet what is there
            self._ends[each.directory] = max(self._ends[each.directory], each.until_offset)

    def _make(self, directory: str) -> None:
        """Durable with all that is above it, even if a driver that died had made it and synced nothing."""
        if directory in self._made:
            return
        self.files.make_directory(directory)
        parts = directory.split("/")
        for depth in range(len(parts)):
            self.files.sync_directory("/".join(parts[:depth]))
        self._made[directory] = None

    def _require_new(self, manifest: Manifest) -> None:
        for before, after in pairwise(manifest.ranges):
            if before.directory == after.directory and after.from_offset < before.until_offset:
                what = f"two tasks of batch {manifest.batch_id} archived offset {after.from_offset} of {after.place}"
                raise LakeError(what, manifest.name)
        for each in manifest.files:
            self._require_absent(each)

    def _require_absent(self, each: ArchivedRange) -> None:
        """One comparison while offsets grow; the directory is listed at the first batch, and when they do not."""
        if each.from_offset >= self._ends.get(each.directory, each.from_offset + 1):
            return
        spans = [span for name in self.files.names(each.directory) if (span := parse_file_name(name))]
        self._ends[each.directory] = max((until for _, until in spans), default=0)
        for start, until in spans:
            if start < each.until_offset and each.from_offset < until:
                raise LakeError(
                    f"offsets {each.from_offset} to {each.until_offset} of {each.place} are in the archive already",
                    f"offsets {start} to {until}, from another batch or query",
                    "archive to another directory, or begin where it ends: startingOffsets, with what "
                    "pyspark_tidelog.lake.archived_until says",
                )

    def _clean(self) -> None:
        """Files of attempts that lost. The batch is over: no task of this query is writing for it any more."""
        directory = staging_directory(self.name)
        for name in self.files.names(directory):
            self.files.remove(f"{directory}/{name}")


def pending(files: LakeFiles, name: str) -> list[int]:
    """Batches that are decided on and not done. One that is still being written has another name."""
    pattern = re.compile(re.escape(name) + r"\.(\d+)\.json")
    return sorted(int(match[1]) for each in files.names(INTENTS) if (match := pattern.fullmatch(each)))


def _require_same(manifest: Manifest, ranges: Sequence[ArchivedRange]) -> None:
    """A replay has the offsets of the first attempt; a batch of the same number with others is another query's."""
    is_other = coverage(manifest.ranges) != coverage(ranges)
    before, now = topic_ids(manifest.ranges), topic_ids(ranges)
    made_again = [topic for topic, topic_id in now.items() if before.get(topic, topic_id) != topic_id]
    if is_other or made_again:
        why = f"topic {made_again[0]} was made again since" if made_again else "with other offsets"
        raise LakeError(
            f"batch {manifest.batch_id} of {manifest.name} is in the archive already, {why}",
            "the checkpoint is new, or was changed",
            "archive under another name (archiveName) or to another directory",
        )
