"""What is decided, step by step (tests/property has the lives of drivers)."""

import pytest
from tests.support.two_phase_cluster import Cluster, FakeWorld

from pyspark_tidelog.two_phase import (
    Batch,
    Decision,
    LedgerLost,
    Lost,
    NotOpen,
    Standing,
    Step,
    Transaction,
    abort,
    commit,
    decide,
    withdraw,
)

OURS = (Transaction("q-run2-0", 7, 3), Transaction("q-run2-1", 8, 0))
THEIRS = (Transaction("q-run1-0", 5, 1),)
BATCH = Batch(4, "run2", OURS)


def names(steps: list[Step]) -> list[str]:
    return [each.what for each in steps]


def test_the_first_batch_of_a_run_looks_for_strays_and_the_next_does_not() -> None:
    new = ["require", "list strays", "record", "commit", "abort strays"]
    assert names(decide(None, BATCH)) == new
    assert names(decide(Decision(3, "run1", THEIRS), BATCH)) == ["finish", *new]
    assert names(decide(Decision(3, "run2", THEIRS), BATCH)) == ["require", "record", "commit", "abort strays"]
    assert names(decide(Decision(3, "run2", THEIRS), BATCH._replace(may_have_strays=True))) == new


def test_a_decided_batch_is_finished_and_ours_is_aborted() -> None:
    last = Decision(4, "run1", THEIRS)
    assert decide(last, BATCH) == [Step("commit", last), Step("abort", transactions=OURS)]
    assert decide(last, Batch(4, "run2", (), was_skipped=True)) == [Step("commit", last)]
    assert decide(Decision(4, "run2", OURS), BATCH) == [Step("commit", Decision(4, "run2", OURS))]
    assert decide(Decision(5, "run1", THEIRS), BATCH) == [Step("abort", transactions=OURS)]


def test_what_is_decided_is_never_withdrawn() -> None:
    assert withdraw(None, BATCH) == [Step("abort", transactions=OURS)]
    assert withdraw(Decision(4, "run1", THEIRS), BATCH) == [Step("abort", transactions=OURS)]
    assert withdraw(Decision(4, "run2", OURS), BATCH) == []
    assert withdraw(None, Batch(4, "run2", ())) == []


def test_a_job_that_failed_leaves_nothing_open_but_what_is_decided() -> None:
    job = Batch(4, "run2", (), is_job=True)
    assert withdraw(None, job) == [Step("list strays"), Step("abort strays")]
    assert withdraw(Decision(4, "run2", OURS), job) == [Step("list strays", transactions=OURS), Step("abort strays")]


def written(cluster: Cluster, run: str = "run1") -> Batch:
    return Batch(0, run, tuple(cluster.begin(f"{run}-{task}", (0, task, run)) for task in range(2)))


def run_to(cluster: Cluster, batch: Batch, stop: str) -> None:
    for step in commit(FakeWorld(cluster), batch):
        if step.what == stop:
            return


def test_what_timed_out_before_the_decision_is_not_decided() -> None:
    cluster = Cluster()
    batch = written(cluster)
    cluster.time_out()
    with pytest.raises(NotOpen) as raised:
        run_to(cluster, batch, "")
    assert raised.value.transactions == batch.transactions
    assert cluster.ledger is None
    assert cluster.visible == []


def test_one_that_timed_out_takes_the_others_with_it() -> None:
    cluster = Cluster()
    first = cluster.begin("run1-0", (0, 0, "run1"))
    cluster.time_out()
    second = cluster.begin("run1-1", (0, 1, "run1"))
    with pytest.raises(NotOpen):
        run_to(cluster, Batch(0, "run1", (first, second)), "")
    assert cluster.open_ids() == []


def test_what_timed_out_after_the_decision_is_told_until_it_is_accepted() -> None:
    cluster = Cluster()
    batch = written(cluster)
    run_to(cluster, batch, "commit")
    cluster.time_out()
    again = written(cluster, "run2")
    for _ in range(2):
        with pytest.raises(Lost) as raised:
            run_to(cluster, again, "")
        assert raised.value.decision == Decision(0, "run1", batch.transactions)
        assert raised.value.transactions == batch.transactions
    run_to(cluster, again._replace(accepted_loss=0), "")
    assert cluster.visible == []
    assert cluster.open_ids() == []


def test_an_older_decision_that_coordinators_have_forgotten_is_no_loss() -> None:
    class Forgetful(FakeWorld):
        def commit(self, transactions: object) -> dict[Transaction, Standing]:
            return dict.fromkeys(THEIRS, Standing.FORGOTTEN) | dict.fromkeys(OURS, Standing.COMMITTED)

        def standings(self, transactions: object) -> dict[Transaction, Standing]:
            return dict.fromkeys(OURS, Standing.OPEN)

    cluster = Cluster(ledger=Decision(3, "run1", THEIRS))
    list(commit(Forgetful(cluster), BATCH))
    assert cluster.ledger == Decision(4, "run2", OURS)
    cluster.ledger = Decision(4, "run1", THEIRS)
    with pytest.raises(Lost):
        list(commit(Forgetful(cluster), Batch(4, "run2", ())))


def test_strays_are_aborted_after_our_decision_and_no_others() -> None:
    cluster = Cluster()
    cluster.begin("run0-0", (0, 0, "run0"))
    batch = written(cluster)
    later = None
    for step in commit(FakeWorld(cluster), batch):
        if step.what == "commit":  # decided: another driver may begin the next batch from now on
            later = cluster.begin("run2-0", (1, 0, "run2"))
            assert "run0-0" in cluster.open_ids()
    assert later is not None
    assert cluster.open_ids() == ["run2-0"]


def test_a_batch_that_was_skipped_must_be_in_the_ledger() -> None:
    cluster = Cluster()
    batch = written(cluster)._replace(was_skipped=True)
    with pytest.raises(LedgerLost):
        run_to(cluster, batch, "")
    assert cluster.ledger is None
    assert cluster.open_ids() == []


def test_an_abort_of_spark_aborts_what_is_not_decided() -> None:
    cluster = Cluster()
    batch = written(cluster)
    list(abort(FakeWorld(cluster), batch))
    assert cluster.open_ids() == []
    decided = written(cluster, "run2")
    run_to(cluster, decided, "commit")
    list(abort(FakeWorld(cluster), decided))
    assert len(cluster.open_ids()) == 2
