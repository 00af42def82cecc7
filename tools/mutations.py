"""Deliberate bugs in the log, each of which some test must catch: `python tools/mutations.py`, minutes, not for CI.

Every mutation is made in a copy of the tree that runs interpreted (a compiled file would hide it). One that survives is
a promise without a test; one whose text is no longer in the source has to be written anew, and is reported too.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).parent.parent
STORAGE = "src/tidelog/storage"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "*.so", "build", "dist", "__pycache__", ".*_cache", ".hypothesis")


class Mutation(NamedTuple):
    bug: str
    file: str
    before: str
    after: str
    tests: str


MUTATIONS = (
    Mutation(
        "a replaced file's directory is not synced",
        "src/tidelog/ports/durable.py",
        "    yield\n    fs.sync_directory(parent_of(path))\n",
        "    yield\n",
        "tests/unit/storage/checkpoints/test_text.py tests/unit/sim tests/unit/ports tests/contract",
    ),
    Mutation(
        "the checksum covers the leader epoch too",
        "src/tidelog/records/kernels_walk.py",
        "crc32c(view[p + 21 : end])",
        "crc32c(view[p + 12 : end])",
        "tests/unit/records",
    ),
    Mutation(
        "a lookup in the index goes one entry too far",
        f"{STORAGE}/kernels_scan.py",
        "    return low - 1\n",
        "    return low\n",
        "tests/unit/storage/segment/test_offset_index.py",
    ),
    Mutation(
        "the scan does not check checksums",
        f"{STORAGE}/kernels_scan.py",
        "            check_crc(b, view, p, after)\n",
        "",
        "tests/unit/storage/segment/test_segment_recovery.py",
    ),
    Mutation(
        "damage below the recovery point is cut in silence",
        f"{STORAGE}/segment.py",
        "max(self.base_offset, found.doubtful_from) < recovery_point",
        "False",
        "tests/unit/storage/segment/test_segment_recovery.py",
    ),
    Mutation(
        "rot in a base offset is taken for a tail",
        f"{STORAGE}/kernels_scan.py",
        "                checked.doubtful_from = base  #",
        "                pass  #",
        "tests/unit/storage/segment/test_segment_recovery.py",
    ),
    Mutation(
        "an old leader epoch behind a new one is accepted",
        f"{STORAGE}/kernels_scan.py",
        "if epoch >= 0 and epoch < checked.leader_epoch:",
        "if False:",
        "tests/unit/storage/segment/test_segment_recovery.py",
    ),
    Mutation(
        "the high watermark passes the end of the log",
        f"{STORAGE}/log.py",
        "max(self.log_start_offset, min(offset, self.log_end_offset))",
        "max(self.log_start_offset, offset)",
        "tests/unit/storage/log/test_log.py tests/property/storage/test_log_twin.py",
    ),
    Mutation(
        "a truncation does not abort a cleaning under way",
        f"{STORAGE}/log_truncation.py",
        "    cut.log.generation += 1\n",
        "",
        "tests/unit/storage tests/sim/test_cleaning_crashes.py",
    ),
    Mutation(
        "the end of one truncation takes the limit of the next one with it",
        f"{STORAGE}/log_truncation.py",
        "[each for each in directory.start_limits if each is not limits]",
        "[]",
        "tests/unit/storage/directories/test_logs_do_not_wait.py",
    ),
    Mutation(
        "a log that was never durable, of a topic that nobody knows, is kept",
        f"{STORAGE}/logs_loading.py",
        "        _drop_unowned(loaded, directory, progress.started_ms)\n",
        "",
        "tests/unit/storage/directories/test_logs.py",
    ),
    Mutation(
        "a deleted log's offsets leave the checkpoints before its name does",
        f"{STORAGE}/log_directory.py",
        ", *self.moved_away, *self.leaving]",
        ", *self.moved_away]",
        "tests/unit/storage/directories/test_log_directory.py",
    ),
    Mutation(
        "the last stable offset forgets open transactions",
        f"{STORAGE}/log.py",
        "if unstable is None or unstable >= self.high_watermark:",
        "if True:",
        "tests/unit/storage",
    ),
    Mutation(
        "the recovery point does not go back with a truncation",
        f"{STORAGE}/log.py",
        "        self.flush.truncate(end_offset, self.segments.active.base_offset)\n",
        "",
        "tests/unit/storage/directories/test_logs.py",
    ),
    Mutation(
        "verification is forgotten behind a roll",
        f"{STORAGE}/producer_append.py",
        " if known not in self.verified}",
        "}",
        "tests/unit/storage",
    ),
    Mutation(
        "a deleted partition's files go before its new name is durable",
        f"{STORAGE}/log_housekeeping.py",
        "    yield [descriptors.fs.begin_sync_directory(log_directory)]\n",
        "",
        "tests/sim/test_deletion_crashes.py",
    ),
    Mutation(
        "after a crash the name of a log is taken for durable",
        f"{STORAGE}/log_loader.py",
        "        _doubt_names(log)\n",
        "        pass\n",
        "tests/unit/storage/directories/test_logs.py",
    ),
    Mutation(
        "recovery leaves the last segment sealed",
        f"{STORAGE}/recovery.py",
        "    active.is_sealed = False\n",
        "",
        "tests/property/storage/test_log_twin.py",
    ),
    Mutation(
        "a swap does not look at the log's generation",
        f"{STORAGE}/log_swap.py",
        "return generation == log.generation and ",
        "return ",
        "tests/unit/storage tests/sim",
    ),
    Mutation(
        "the cleaner's checkpoint is written although its swaps were called off",
        f"{STORAGE}/cleaner/scheduler.py",
        "if not task.is_called_off and task.is_current:",
        "if task.result is not None:",
        "tests/unit/storage/cleaner tests/sim/test_cleaning_crashes.py",
    ),
    Mutation(
        "a new segment's name is not synced when the log rolls",
        f"{STORAGE}/segment.py",
        "        if self._files.has_new_names:\n            tickets.append(",
        "        if False:\n            tickets.append(",
        "tests/unit/storage tests/sim",
    ),
    Mutation(
        "retention deletes before the log start is written down",
        f"{STORAGE}/retention.py",
        "min(log.log_start_offset, durable_log_start_offset)",
        "log.log_start_offset",
        "tests/unit/storage/log/test_retention.py",
    ),
    Mutation(
        "the largest time may be of a record below the log start",
        f"{STORAGE}/log_read.py",
        "(yield from segment.search_latest(start))",
        "segment.max_timestamp",
        "tests/unit/storage/log/test_log.py",
    ),
    Mutation(
        "a cleaned segment is as old as its cleaning",
        f"{STORAGE}/cleaner/cleaning.py",
        "        self._keep_time(target)\n",
        "",
        "tests/unit/storage/cleaner/test_cleaning.py",
    ),
    Mutation(
        "verification judges producers by a damaged log",
        f"{STORAGE}/inspect/log_state.py",
        "        self._whole = False\n",
        "",
        "tests/unit/storage/inspect/test_verify_producers.py",
    ),
    Mutation(
        "verification forgets a transaction with its producer's epoch",
        f"{STORAGE}/inspect/producer_check.py",
        "known.txn_first_offset if known else None",
        "None",
        "tests/unit/storage/inspect/test_verify_producers.py",
    ),
    Mutation(
        "Apache's broker is not kept out of a log directory",
        "src/tidelog/io/locks.py",
        "            _lock_records(descriptor, shared=False)\n",
        "            pass\n",
        "tests/interop/apache/test_locks.py",
    ),
)


def run_tests(tests: str, tree: Path) -> bool:
    """Whether they pass; a hang counts as a failure."""
    environment = {**os.environ, "TIDELOG_PURE": "1", "PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-p", "no:cacheprovider", *tests.split()]
    try:
        outcome = subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        return False
    return outcome.returncode == 0


def survives(mutation: Mutation, tree: Path) -> bool | None:
    """None where the mutation no longer fits the source."""
    file = tree / mutation.file
    source = file.read_text()
    if mutation.before not in source:
        return None
    file.write_text(source.replace(mutation.before, mutation.after, 1))
    try:
        return run_tests(mutation.tests, tree)
    finally:
        file.write_text(source)


def main() -> int:
    console = Console()
    verdicts = {False: "[green]caught", True: "[bold red]SURVIVED", None: "[yellow]not in the source any more"}
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
        red = [tests for tests in dict.fromkeys(each.tests for each in MUTATIONS) if not run_tests(tests, tree)]
        for tests in red:  # they would "catch" anything
            console.print(f"[bold red]RED WITHOUT A BUG[/]  {tests}")
        failures += len(red)
        for mutation in track(MUTATIONS, "mutations", console=console):
            outcome = survives(mutation, tree)
            failures += outcome is not False
            console.print(f"{verdicts[outcome]}[/]  {mutation.bug}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
