"""Rows of a batch get into the lake once and whole, wherever the driver stops; and together with a ledger that stops
as well, in whichever order the two are written."""

import pytest
from tests.support.forgetful_files import Crash, ForgetfulFiles

from pyspark_tidelog.lake.committing import Committer, pending
from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.layout import WrittenPart, manifest_path

NAME, QUERY = "orders", "query"
STAGING = f"_tidelog/staging/{NAME}"


def stage(files: ForgetfulFiles, batch_id: int, texts: list[str], attempt: str) -> list[WrittenPart]:
    files.make_directory(STAGING)
    parts = []
    for part, text in enumerate(texts):
        path = f"{STAGING}/{attempt}-{part}.parquet"
        files.write(path, text.encode())
        files.sync(path)
        parts.append(WrittenPart(NAME, batch_id, part, len(text.split()), len(text), path))
    files.sync_directory(STAGING)
    return parts


def put(files: ForgetfulFiles, batch_id: int, texts: list[str], attempt: str) -> None:
    """What `write_batch` does."""
    committer = Committer(files, NAME)
    if committer.done_by(QUERY, batch_id) is None:
        committer.commit_rows(QUERY, batch_id, stage(files, batch_id, texts, attempt))


def rows(files: ForgetfulFiles) -> list[str]:
    """That a reader of the directory finds."""
    found = [files.read(name).decode() for name in files.names("") if name.endswith(".parquet")]
    return sorted(row for text in found for row in text.split())


FIRST = ["a b", "c"]
AGAIN = ["a", "b", "c"]  # the same rows, in other tasks
NEXT = ["d e"]


def steps_of_a_batch() -> int:
    files = ForgetfulFiles()
    put(files, 0, FIRST, "first")
    return files.steps


def crashed(step: int) -> ForgetfulFiles:
    files = ForgetfulFiles(step)
    with pytest.raises(Crash):
        put(files, 0, FIRST, "first")
    return files


@pytest.mark.parametrize("how", ["killed", "unplugged"])
def test_a_crash_at_any_step_leaves_every_row_once(how: str) -> None:
    for step in range(steps_of_a_batch()):
        files: ForgetfulFiles = getattr(crashed(step), how)()
        decided = bool(pending(files, NAME)) or files.exists(manifest_path(NAME, 0))
        assert decided or rows(files) == [], f"step {step}: seen before it was decided on"
        put(files, 0, AGAIN, "second")
        assert rows(files) == ["a", "b", "c"], f"step {step}"
        put(files, 1, NEXT, "third")
        put(files, 1, NEXT, "fourth")
        assert rows(files) == ["a", "b", "c", "d", "e"], f"step {step}"
        assert files.names(STAGING) == [], f"step {step}: orphans"
        assert rows(files.unplugged()) == ["a", "b", "c", "d", "e"], f"step {step}: not durable"


def test_the_sweep_crosses_the_decision() -> None:
    decided = [bool(pending(crashed(step), NAME)) for step in range(steps_of_a_batch())]
    assert True in decided
    assert (decided[0], decided[-1]) == (False, False)


def test_two_drivers_of_one_query() -> None:
    """Both have written batch 0 when the first of them commits it."""
    files = ForgetfulFiles()
    mine, others = stage(files, 0, FIRST, "mine"), stage(files, 0, AGAIN, "others")
    ahead = stage(files, 1, NEXT, "ahead")
    Committer(files, NAME).commit_rows(QUERY, 0, mine)
    Committer(files, NAME).commit_rows(QUERY, 0, others)
    assert rows(files) == ["a", "b", "c"]
    with pytest.raises(LakeError, match=r"ahead-0.parquet is gone before batch 1 .*the batch is written anew"):
        Committer(files, NAME).commit_rows(QUERY, 1, ahead)
    put(files, 1, NEXT, "again")
    assert rows(files) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("is_lake_first", [True, False])
def test_topic_and_lake_in_one_batch(is_lake_first: bool) -> None:
    """The crash comes at every step of the lake, between the two, and after both, before Spark has taken note."""
    for step in range(steps_of_a_batch() + 2):
        batch = Batch(ForgetfulFiles(step), is_lake_first)
        with pytest.raises(Crash):
            batch.die(FIRST)
        batch.files = batch.files.unplugged()
        batch.write(AGAIN)
        batch.write(AGAIN)
        assert rows(batch.files) == batch.topic == ["a", "b", "c"], f"step {step}"


class Batch:
    """In `foreachBatch`, with a topic as its ledger makes it: one that takes the rows of a batch once."""

    def __init__(self, files: ForgetfulFiles, is_lake_first: bool) -> None:
        self.files, self.is_lake_first = files, is_lake_first
        self.topic: list[str] = []

    def write(self, texts: list[str]) -> None:
        if not self.is_lake_first:
            self.to_topic(texts)
        put(self.files, 0, texts, f"attempt-{self.files.steps}")
        if self.is_lake_first:
            self.to_topic(texts)

    def to_topic(self, texts: list[str]) -> None:
        if self.files.steps == self.files.crash_before:
            raise Crash
        self.topic = self.topic or " ".join(texts).split()

    def die(self, texts: list[str]) -> None:
        self.write(texts)
        raise Crash
