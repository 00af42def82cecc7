"""Which batch may come after a decision, and which is refused: by number, checkpoint, offsets and run."""

import uuid
from typing import Any

import pytest

from pyspark_tidelog.sink.decisions import (
    FORMER_RUNS_MAX,
    Batch,
    Decision,
    Origin,
    Relation,
    Transaction,
    adopted,
    is_in_ledger,
    new_decision,
    relation,
    short_run,
)

ROWS = (Transaction("t", 1, 0),)
OTHERS = (Transaction("t", 1, 2),)
HERE = Origin("checkpoint", "offsets")
LAST = Decision(5, "run1", ROWS, HERE)


def asked(batch_id: int, run_id: str = "run2", origin: Origin = HERE, **others: Any) -> Batch:
    return Batch(batch_id, run_id, OTHERS, origin=origin, **others)


@pytest.mark.parametrize(
    ("batch", "wanted"),
    [
        (asked(6), Relation.NEXT),
        (asked(6, "run1"), Relation.NEXT),
        (asked(9), Relation.NEXT),
        (asked(6, former={5: "offsets"}), Relation.NEXT),
        (asked(6, former={5: "others"}), Relation.BRANCHED),
        (asked(8, former={7: "x", 6: "y", 5: "others"}), Relation.BRANCHED),
        (asked(8, former={7: "x", 6: "y"}), Relation.NEXT),
        (asked(6, former={5: "others"}, take_over=LAST.token), Relation.NEXT),
        (asked(5), Relation.REPLAY),
        (asked(5, origin=Origin("checkpoint", "others")), Relation.OTHER_BATCH),
        (asked(5, origin=Origin("another", "offsets")), Relation.FOREIGN),
        (asked(6, origin=Origin("another", "")), Relation.FOREIGN),
        (asked(4), Relation.BEHIND),
        (asked(0, "run1"), Relation.BEHIND),
        (asked(4, origin=Origin()), Relation.BEHIND),
        (asked(5, origin=Origin("checkpoint")), Relation.REPLAY),
        (asked(5, origin=Origin()), Relation.REPLAY),
        (asked(5, "run1"), Relation.TWICE),
        (Batch(5, "run1", (), origin=HERE), Relation.TWICE),
        (Batch(5, "run1", ROWS, origin=HERE), Relation.OWN),
    ],
)
def test_how_a_batch_stands_to_the_last(batch: Batch, wanted: Relation) -> None:
    assert relation(LAST, batch) is wanted
    assert relation(None, batch) is Relation.NEXT


def test_a_record_of_the_version_before_says_nothing_but_numbers() -> None:
    former = Decision(5, "run1", ROWS)
    assert relation(former, asked(6)) is Relation.NEXT
    assert relation(former, asked(5)) is Relation.REPLAY
    assert relation(former, asked(4)) is Relation.BEHIND


def test_a_run_that_was_replaced_decides_nothing_any_more() -> None:
    first = new_decision(None, asked(4, "run1"))
    second = new_decision(first, asked(5, "run1"))
    assert second.former_runs == ()
    replayed = adopted(second, asked(5, "run2"))
    assert replayed.former_runs == (short_run("run1"),)
    assert replayed.transactions == second.transactions
    for batch_id in (5, 6, 7):
        assert relation(replayed, asked(batch_id, "run1")) is Relation.REPLACED
    assert relation(replayed, asked(6, "run2")) is Relation.NEXT
    assert relation(replayed, asked(6, "run3")) is Relation.NEXT


def test_runs_are_remembered_for_so_many_starts_and_no_more() -> None:
    decision = LAST
    runs = [str(uuid.uuid4()) for _ in range(FORMER_RUNS_MAX + 10)]
    for number, run in enumerate(runs):
        decision = new_decision(decision, asked(6 + number, run))
    assert len(decision.former_runs) == FORMER_RUNS_MAX
    assert decision.former_runs[0] == short_run(runs[-2])


def test_who_takes_over_names_the_decision_and_then_it_is_without_effect() -> None:
    taking = LAST.token
    assert taking == f"5@{short_run('run1')}"
    for batch in (asked(0), asked(5), asked(4, origin=Origin("another", "x")), asked(6, origin=Origin("another", "x"))):
        assert relation(LAST, batch._replace(take_over=taking)) is Relation.NEXT
        assert not is_in_ledger(LAST, batch.batch_id, taking)
        after = new_decision(LAST, batch._replace(take_over=taking))
        assert after.former_runs == (short_run("run1"),)
        again = batch._replace(run_id="run3", take_over=taking)
        assert relation(after, again) is Relation.REPLAY
        assert is_in_ledger(after, batch.batch_id, taking)
        assert relation(after, asked(6, "run1", batch.origin)) is Relation.REPLACED


def test_a_run_that_takes_over_after_it_was_replaced_is_not_replaced_any_more() -> None:
    replaced = Decision(5, "run2", ROWS, HERE, (short_run("run1"),))
    after = new_decision(replaced, asked(6, "run1", take_over=replaced.token))
    assert after.former_runs == (short_run("run2"),)
    assert relation(after, asked(7, "run1")) is Relation.NEXT


def test_a_source_that_was_made_anew_is_noticed_by_the_next_run_only() -> None:
    last = LAST._replace(source_ids={"orders": "id1", "gone": "id2"})
    now = {"orders": "id9", "new": "id3"}
    assert relation(last, asked(6, source_ids=now)) is Relation.SOURCE_ANEW
    assert relation(last, asked(5, source_ids=now)) is Relation.SOURCE_ANEW
    assert relation(last, asked(6, "run1", source_ids=now)) is Relation.NEXT, "the source itself has seen it"
    assert relation(last, asked(6, source_ids={"orders": "id1"})) is Relation.NEXT
    assert relation(last, asked(6, source_ids=now, take_over=last.token)) is Relation.NEXT


def test_a_run_is_so_many_digits_whatever_it_is_called() -> None:
    assert short_run("0123-4567-89AB-cdef") == "0123456789ab"
    assert len(short_run("a job group")) == 12
    assert short_run("a job group") != short_run("another")
