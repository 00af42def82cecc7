"""The answers of Apache's own epoch cache after hundreds of random assignments and truncations; ours gives the same
(golden/README.md)."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tidelog.storage.checkpoints.text import EpochEntry, decode_epochs
from tidelog.storage.log.leader_epochs import LeaderEpochs

TRANSCRIPT = Path(__file__).parent / "golden" / "epoch_transcript.jsonl.gz"


def runs() -> list[list[list[Any]]]:
    gathered: list[list[list[Any]]] = []
    with gzip.open(TRANSCRIPT, "rt") as lines:
        for line in map(json.loads, lines):
            if line[0] == "begin":
                gathered.append([])
            else:
                gathered[-1].append(line)
    return gathered


def by_epoch(epochs: LeaderEpochs, asked: int, log_end_offset: int) -> list[int]:
    found = epochs.end_offset_for(asked, log_end_offset) or (-1, -1)
    previous, following = epochs.previous(asked), epochs.next(asked)
    return [*found, previous.epoch if previous else -1, following.epoch if following else -1]


def or_minus_one(epoch: int | None) -> int:
    return -1 if epoch is None else epoch


@pytest.mark.parametrize("steps", runs())
def test_answers_as_apache_does(steps: list[list[Any]]) -> None:
    epochs = LeaderEpochs()
    for *step, entries, end, epoch_answers, offset_answers, start, stop, in_range, contents in steps:
        getattr(epochs, step[0])(*step[1:])
        assert [list(entry) for entry in epochs.entries()] == entries, step
        assert [by_epoch(epochs, asked, end) for asked in range(-1, len(epoch_answers) - 1)] == epoch_answers
        assert [or_minus_one(epochs.epoch_for_offset(asked)) for asked in range(end + 1)] == offset_answers
        assert [list(entry) for entry in epochs.entries_in_range(start, stop)] == in_range
        if contents:  # Apache writes no file before there is an entry
            assert epochs.encode().decode() == contents
            assert decode_epochs(contents.encode(), "it") == [EpochEntry(*entry) for entry in entries]


def test_the_transcript_meets_every_step() -> None:
    kinds = [step[0] for steps in runs() for step in steps]
    assert min(kinds.count(kind) for kind in ("assign", "truncate_from_end", "truncate_from_start")) > 30
