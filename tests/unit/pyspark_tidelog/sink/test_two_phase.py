"""What is decided, step by step (tests/property has the lives of drivers)."""

import pytest
from tests.support.two_phase_cluster import Cluster, FakeWorld

from pyspark_tidelog.sink.decisions import Batch, Decision, Relation, Transaction, short_run
from pyspark_tidelog.sink.two_phase import (
    LedgerLost,
    Lost,
    NotOpen,
    Refused,
    Standing,
    Step,
    TopicGone,
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
    assert names(decide(None, BATCH)) == ["check the ledger", *new]
    assert names(decide(Decision(3, "run1", THEIRS), BATCH)) == ["check the ledger", "finish", *new]
    assert names(decide(Decision(3, "run2", THEIRS), BATCH)) == ["finish", "require", *new[2:]]
    assert names(decide(Decision(3, "run2", THEIRS), BATCH._replace(may_have_strays=True))) == ["finish", *new]


def test_a_replay_records_the_decision_again_under_its_own_run() -> None:
    last = Decision(4, "run1", THEIRS, former_runs=("run0",))
    steps = decide(last, BATCH)
    assert names(steps) == ["check the ledger", "list strays", "commit", "record", "abort strays"]
    assert steps[1].transactions == THEIRS, "what this run has written is among the strays"
    recorded = steps[3].decision
    assert recorded is not None
    assert recorded.transactions == THEIRS
    assert recorded.run_id == "run2"
    assert recorded.former_runs == (short_run("run1"), "run0")
    assert steps[2] == Step("commit", last)


def test_a_run_that_asks_for_its_own_decision_again() -> None:
    own = Decision(4, "run2", OURS)
    assert decide(own, BATCH) == [Step("commit", own)]


def test_what_is_refused_is_aborted_and_the_decision_that_stands_is_committed() -> None:
    last = Decision(5, "run1", THEIRS)
    refused = [Step("settle", last), Step("abort", transactions=OURS), Step("refuse", last, relation=Relation.BEHIND)]
    assert decide(last, BATCH) == refused
    cluster = Cluster()
    decided = cluster.begin("run9-0", (5, 0, "run9"))
    cluster.ledger = last = Decision(5, "run9", (decided,))
    batch = written(cluster)
    with pytest.raises(Refused) as raised:
        run_to(cluster, batch, "")
    assert (raised.value.last, raised.value.batch) == (last, batch)
    assert cluster.ledger == last
    assert cluster.visible == [(5, 0, "run9")]
    assert cluster.open_ids() == []


def test_what_is_decided_is_never_withdrawn() -> None:
    assert withdraw(None) == [Step("list strays"), Step("abort strays")]
    assert withdraw(Decision(4, "run2", OURS)) == [Step("list strays", transactions=OURS), Step("abort strays")]


def test_an_abort_ends_what_its_own_run_has_open_and_no_other() -> None:
    cluster = Cluster()
    written(cluster, "run1")
    written(cluster, "run2")
    list(abort(FakeWorld(cluster), Batch(0, "run1", ())))
    assert cluster.open_ids() == ["run2-0", "run2-1"]


def test_a_topic_that_was_deleted_before_the_decision() -> None:
    cluster = Cluster(topics={"t": "id2"})
    batch = written(cluster)._replace(topic_ids={"t": "id1"})
    with pytest.raises(TopicGone) as raised:
        run_to(cluster, batch, "")
    assert raised.value.topics == ("t",)
    assert not raised.value.is_decided
    assert cluster.ledger is None
    assert cluster.open_ids() == []


def test_a_topic_that_was_made_anew_between_the_decision_and_its_replay() -> None:
    cluster = Cluster(topics={"t": "id1"})
    batch = written(cluster)._replace(topic_ids={"t": "id1"})
    run_to(cluster, batch, "")
    cluster.topics["t"] = "id2"
    again = Batch(0, "run2", (), was_skipped=True)
    for _ in range(2):  # however often it is started
        with pytest.raises(TopicGone) as raised:
            run_to(cluster, again, "")
        assert raised.value.is_decided
    run_to(cluster, again._replace(accepted_loss=0), "")


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
        assert raised.value.decision.transactions == batch.transactions
        assert raised.value.transactions == batch.transactions
    run_to(cluster, again._replace(accepted_loss=0), "")
    assert cluster.visible == []
    assert cluster.open_ids() == []


def test_an_older_decision_that_coordinators_have_forgotten_is_no_loss() -> None:
    class Forgetful(FakeWorld):
        def commit(self, transactions: object) -> dict[Transaction, Standing]:
            return dict.fromkeys(THEIRS, Standing.FORGOTTEN) | dict.fromkeys(OURS, Standing.COMMITTED)

        def standings(self, transactions: object) -> dict[Transaction, Standing]:
            return dict.fromkeys(THEIRS, Standing.FORGOTTEN) | dict.fromkeys(OURS, Standing.OPEN)

    cluster = Cluster(ledger=Decision(3, "run1", THEIRS))
    list(commit(Forgetful(cluster), BATCH))
    assert cluster.ledger == Decision(4, "run2", OURS, former_runs=(short_run("run1"),))
    cluster.ledger = Decision(4, "run1", THEIRS)
    with pytest.raises(Lost):
        list(commit(Forgetful(cluster), Batch(4, "run2", ())))


def test_a_decision_whose_commit_failed_is_finished_by_the_next_batch_of_the_same_run() -> None:
    """Whoever called the commit has caught its error, as a `foreachBatch` may, and goes on."""
    cluster = Cluster()
    run_to(cluster, written(cluster), "commit")
    assert cluster.visible == []
    for batch_id in (1, 2):
        tags = [(batch_id, task, "run1") for task in range(2)]
        begun = tuple(cluster.begin(f"run1-{batch_id}-{task}", tag) for task, tag in enumerate(tags))
        run_to(cluster, Batch(batch_id, "run1", begun, may_have_strays=True), "")
    assert sorted({batch_id for batch_id, _, _ in cluster.visible}) == [0, 1, 2]
    assert cluster.open_ids() == []


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
