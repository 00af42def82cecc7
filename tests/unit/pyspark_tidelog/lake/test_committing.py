"""A batch gets into the archive once and whole, wherever its driver stops."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.forgetful_files import Crash, ForgetfulFiles

from pyspark_tidelog.lake.committing import Committer, pending
from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.layout import ArchivedRange, manifest_path

NAME = "query"
STAGING = f"_tidelog/staging/{NAME}"


def span(from_offset: int, until_offset: int, partition: int = 0, topic_id: str | None = "id") -> ArchivedRange:
    rows = until_offset - from_offset
    return ArchivedRange("t", topic_id, partition, from_offset, until_offset, rows, 0, "", 1, 2)


def stage(
    files: ForgetfulFiles, ranges: Sequence[ArchivedRange], attempt: str, name: str = NAME
) -> list[ArchivedRange]:
    """What tasks do: a file each, of a name of its own, durable before the driver hears of it."""
    staging = f"_tidelog/staging/{name}"
    files.make_directory(staging)
    staged = []
    for each in ranges:
        path = f"{staging}/{attempt}-{each.partition}-{each.from_offset}.parquet"
        content = f"{each.topic_partition} {each.from_offset} {each.until_offset}".encode()
        files.write(path, content)
        files.sync(path)
        staged.append(replace(each, path=path, bytes=len(content)))
    files.sync_directory(staging)
    return staged


def visible(files: ForgetfulFiles) -> dict[str, bytes]:
    """What a reader of the directory finds: all but names that begin with _ or a dot."""
    found = {}
    for directory in files.directories:
        if any(part.startswith(("_", ".")) for part in directory.split("/")):
            continue
        for name in files.names(directory):
            path = f"{directory}/{name}"
            if name.endswith(".parquet") and not name.startswith(("_", ".")):
                found[path] = files.read(path)
    return found


def expected(ranges: Sequence[ArchivedRange]) -> dict[str, bytes]:
    return {
        each.final_path: f"{each.topic_partition} {each.from_offset} {each.until_offset}".encode() for each in ranges
    }


def run(files: ForgetfulFiles, batch_id: int, ranges: Sequence[ArchivedRange], attempt: str = "first") -> None:
    Committer(files, NAME).commit(batch_id, stage(files, ranges, attempt))


FIRST = [span(0, 10), span(10, 25), span(0, 7, partition=1)]
# The same offsets, cut otherwise: a restart may have another minPartitions.
AGAIN = [span(0, 25), span(0, 3, partition=1), span(3, 7, partition=1)]
NEXT = [span(25, 30), span(7, 9, partition=1)]


def steps_of_a_commit() -> int:
    files = ForgetfulFiles()
    staged = stage(files, FIRST, "first")
    before = files.steps
    Committer(files, NAME).commit(0, staged)
    return files.steps - before


def crashed(step: int) -> ForgetfulFiles:
    files = ForgetfulFiles()
    staged = stage(files, FIRST, "first")
    files.crash_before = files.steps + step
    with pytest.raises(Crash):
        Committer(files, NAME).commit(0, staged)
    return files


@pytest.mark.parametrize("how", ["killed", "unplugged"])
@pytest.mark.parametrize("again", [FIRST, AGAIN], ids=["same split", "other split"])
def test_a_crash_at_any_step_leaves_every_offset_once(how: str, again: list[ArchivedRange]) -> None:
    for step in range(steps_of_a_commit()):
        files: ForgetfulFiles = getattr(crashed(step), how)()
        decided = bool(pending(files, NAME)) or files.exists(manifest_path(NAME, 0))
        assert decided or visible(files) == {}, f"step {step}: seen before it was decided on"
        run(files, 0, again, "second")
        assert visible(files) == expected(FIRST if decided else again), f"step {step}"
        run(files, 1, NEXT, "third")
        assert visible(files) == expected([*(FIRST if decided else again), *NEXT]), f"step {step}"
        assert files.names(STAGING) == [], f"step {step}: orphans"
        assert files.names("_tidelog/intents") in ([], ["query.0.json.new"]), f"step {step}"


def test_the_sweep_crosses_the_decision() -> None:
    """Else it would prove nothing about either side."""
    decided = [bool(pending(crashed(step), NAME)) for step in range(steps_of_a_commit())]
    assert True in decided
    assert decided[0] is False
    assert decided[-1] is False  # done


def test_a_crash_while_it_recovers_is_recovered_from() -> None:
    first = next(step for step in range(steps_of_a_commit()) if pending(crashed(step).unplugged(), NAME))
    for step in range(40):
        files = crashed(first).unplugged()
        files.crash_before = step
        try:
            Committer(files, NAME).recover()
        except Crash:
            files = files.unplugged()
            Committer(files, NAME).recover()
        assert visible(files) == expected(FIRST), f"step {step}"
    assert files.steps < 40, "the sweep ended too early"


def test_what_was_committed_survives_a_power_cut() -> None:
    files = ForgetfulFiles()
    run(files, 0, FIRST)
    assert visible(files.unplugged()) == expected(FIRST)


def test_a_replay_of_a_batch_that_is_done_changes_nothing() -> None:
    files = ForgetfulFiles()
    run(files, 0, FIRST)
    text = files.read(manifest_path(NAME, 0))
    run(files, 0, AGAIN, "second")
    assert visible(files) == expected(FIRST)
    assert files.read(manifest_path(NAME, 0)) == text
    assert files.names(STAGING) == []


def test_the_manifest_tells_what_the_batch_wrote() -> None:
    files = ForgetfulFiles()
    run(files, 3, FIRST)
    told = json.loads(files.read(manifest_path(NAME, 3)))
    assert (told["batch_id"], told["rows"], len(told["ranges"])) == (3, 32, 3)
    assert [each["file"] for each in told["ranges"]] == [each.final_path for each in FIRST]
    assert told["ranges"][0]["topic_id"] == "id"


def test_a_range_without_records_has_no_file_but_is_told() -> None:
    files = ForgetfulFiles()
    empty = replace(span(0, 10), rows=0, path=None)
    Committer(files, NAME).commit(0, [empty])
    assert visible(files) == {}
    assert json.loads(files.read(manifest_path(NAME, 0)))["ranges"][0]["file"] is None
    run(files, 1, [span(10, 12)])
    assert visible(files) == expected([span(10, 12)])


@pytest.mark.parametrize("other", [[span(0, 24)], [span(0, 10), span(11, 25)], [span(0, 25), span(0, 7, 2)]])
def test_a_batch_of_the_same_number_with_other_offsets_is_refused(other: list[ArchivedRange]) -> None:
    files = ForgetfulFiles()
    run(files, 0, [span(0, 25)])
    with pytest.raises(LakeError, match=r"batch 0 of query is in the archive already, with other offsets.*archiveName"):
        run(files, 0, other, "second")
    assert visible(files) == expected([span(0, 25)])


def test_a_topic_that_was_made_again_is_refused() -> None:
    files = ForgetfulFiles()
    run(files, 0, [span(0, 25)])
    with pytest.raises(LakeError, match="topic t was made again"):
        run(files, 0, [span(0, 25, topic_id="another")], "second")


@pytest.mark.parametrize("again", [span(0, 10), span(9, 12), span(3, 4), span(5, 30)])
def test_offsets_that_are_there_already_are_refused(again: ArchivedRange) -> None:
    files = ForgetfulFiles()
    run(files, 0, [span(0, 10)])
    for committer in (Committer(files, NAME), Committer(files, "another-query")):
        with pytest.raises(LakeError, match=r"of t-0 are in the archive already \(offsets 0 to 10.*archived_until"):
            committer.commit(1, stage(files, [again], "second"))
    assert visible(files) == expected([span(0, 10)])


def test_recovery_does_not_hide_what_another_query_wrote_meanwhile() -> None:
    first = next(step for step in range(steps_of_a_commit()) if pending(crashed(step), NAME))
    files = crashed(first).killed()
    other = stage(files, [span(25, 30)], "other", "another-query")
    Committer(files, "another-query").commit(0, other)
    with pytest.raises(LakeError, match="are in the archive already"):
        run(files, 1, NEXT, "second")
    assert visible(files) == expected([*FIRST, span(25, 30)])


def test_a_gap_may_be_filled() -> None:
    files = ForgetfulFiles()
    committer = Committer(files, NAME)
    for batch_id, each in enumerate([span(0, 10), span(20, 30), span(10, 20)]):
        committer.commit(batch_id, stage(files, [each], str(batch_id)))
    assert visible(files) == expected([span(0, 10), span(10, 20), span(20, 30)])


def test_tasks_that_overlap_are_refused_before_anything_is_decided() -> None:
    files = ForgetfulFiles()
    with pytest.raises(LakeError, match="two tasks of batch 0 archived offset 9 of t-0"):
        run(files, 0, [span(0, 10), span(9, 12)])
    assert pending(files, NAME) == []


def test_a_decided_file_that_is_gone_is_not_passed_over() -> None:
    first = next(step for step in range(steps_of_a_commit()) if pending(crashed(step), NAME))
    files = crashed(first).killed()
    files.remove(f"{STAGING}/first-0-10.parquet")
    with pytest.raises(LakeError, match=r"decided on, but its file .*first-0-10.parquet is gone .*10 to 25 of t-0"):
        run(files, 0, FIRST, "second")


def test_another_querys_staging_and_intents_are_left_alone() -> None:
    first = next(step for step in range(steps_of_a_commit()) if pending(crashed(step), NAME))
    files = crashed(first).killed()
    other = replace(span(0, 5), topic="u")
    committer = Committer(files, "query.0")  # a name that begins like the other's intents
    committer.commit(0, [replace(other, path=None, rows=0)])
    assert pending(files, NAME) == [0]
    assert len(files.names(STAGING)) == 3


def test_batches_by_hand_are_counted_on() -> None:
    files = ForgetfulFiles()
    assert Committer(files, NAME).next_batch_id() == 0
    run(files, 9, FIRST)
    run(files, 10, NEXT)
    assert Committer(files, NAME).next_batch_id() == 11
