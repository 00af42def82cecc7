"""The checks by which an archive refuses a batch: one that is not the batch of the same number that is there already,
one whose staged files are gone, and one that would mix topics and rows in a directory."""

from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.files import LakeFiles
from pyspark_tidelog.lake.layout import MANIFESTS
from pyspark_tidelog.lake.manifest import Manifest, coverage, topic_ids
from pyspark_tidelog.sink.decisions import Origin, differ


def require_same(done: Manifest, again: Manifest) -> None:
    """Refuse a batch that is not a replay of the one that is done. A replay has the offsets of the first attempt; a
    batch of the same number with other offsets comes from another query."""
    require_same_query(done, again.query_id, again.origin)
    before, now = topic_ids(done.ranges), topic_ids(again.ranges)
    made_again = [topic for topic, topic_id in now.items() if before.get(topic, topic_id) != topic_id]
    if made_again:
        raise _is_other(done, f"topic {made_again[0]} was made again since")
    if coverage(done.ranges) != coverage(again.ranges):
        raise _is_other(done, "with other offsets")


def require_same_query(done: Manifest, query_id: str | None, origin: Origin) -> None:
    """Refuse a batch of another query or checkpoint, or one that was planned anew: to skip it as done would lose its
    rows. Rows have no offsets to tell batches apart by, but their checkpoint may know the batch."""
    if done.query_id != query_id:
        raise _is_other(done, f"from {f'query {done.query_id}' if done.query_id else 'another query'}")
    if differ(done.origin.checkpoint_id, origin.checkpoint_id):
        raise _is_other(done, f"from checkpoint {done.origin.checkpoint_id}, and this is {origin.checkpoint_id}")
    if differ(done.origin.digest, origin.digest):
        raise _is_other(done, "with other offsets")


def require_staged(files: LakeFiles, manifest: Manifest) -> None:
    """Refuse a batch one of whose staged files is gone. This is checked before the decision, after which the batch
    could not be written anew."""
    for each in manifest.files:
        if each.path is not None and not files.exists(each.path):
            what = f"{each.path} is gone before batch {manifest.batch_id} of {manifest.name} was decided on"
            step = "see that the query runs only once for its checkpoint, and start it again: the batch is written anew"
            raise LakeError(what, each.contents, step)


def require_one_kind(files: LakeFiles, manifest: Manifest) -> None:
    """Refuse rows in an archive of topics, and topics in one of rows: Spark reads no directory that has both topic=...
    and files in it. Only checked before the first batch of a name."""
    if files.exists(f"{MANIFESTS}/{manifest.name}"):
        return
    is_rows = manifest.query_id is not None
    others = [each for each in files.names("") if (each.startswith("topic=") if is_rows else _is_file(each))]
    if others:
        kinds = ("rows of batches", "an archive of topics") if is_rows else ("an archive of topics", "rows of batches")
        what = f"{kinds[0]} can not go where {kinds[1]} is"
        raise LakeError(what, others[0], "give each a directory of its own")


def _is_file(name: str) -> bool:
    return name.endswith(".parquet")


def _is_other(done: Manifest, why: str) -> LakeError:
    return LakeError(
        f"batch {done.batch_id} of {done.name} is in the archive already, {why}",
        "the checkpoint is new, or was changed",
        f"{'archive under another name (archiveName)' if done.query_id is None else 'write under another name'} "
        "or to another directory",
    )
