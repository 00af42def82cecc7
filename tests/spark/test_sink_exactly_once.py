"""Exactly once against a real broker: what a consumer sees that reads committed, with drivers and tasks dying. No JVM:
the writers are driven as Spark drives them (`sink_driving`)."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.spark.sink_driving import Killed, Run, StoppableCommit, expected, rows, values

from pyspark_tidelog.errors import SinkError
from pyspark_tidelog.sink import transactions
from pyspark_tidelog.sink.transactional_ids import TransactionalIds
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.coordinators import CoordinatorClient
from tidelog.client.producer.transaction_calls import end_together
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch

PREFIX = "tidelog-spark"
POINTS = ["fence", "read", "check the ledger", "require", "list strays", "record", "commit", "abort strays"]


@pytest.fixture
def output(kafka_topic: Callable[..., str]) -> str:
    return kafka_topic("output", partitions=2)


@pytest.fixture
def run(bootstrap: str, output: str, kafka_topic_prefix: str) -> Callable[[], Run]:
    """A start of the test's query."""
    options = {"kafka.bootstrap.servers": bootstrap, "topic": output, "ledgerTopic": f"{kafka_topic_prefix}ledger"}
    return lambda: Run(options, f"{kafka_topic_prefix}query")


def open_ids(bootstrap: str, query_id: str) -> list[str]:
    with Client(bootstrap) as client:
        pattern = TransactionalIds(PREFIX, query_id).pattern
        return [each.transactional_id for each in Admin(client).list_transactions(["Ongoing"], pattern=pattern)]


def test_rows_are_visible_with_the_commit_and_not_before(run: Callable[[], Run], bootstrap: str, output: str) -> None:
    query = run()
    for batch_id in range(3):
        messages = query.write_all(batch_id)
        assert values(bootstrap, output) == expected(*range(batch_id))
        steps = query.commit(messages, batch_id)
        assert values(bootstrap, output) == expected(*range(batch_id + 1))
        assert ("list strays" in steps) == (batch_id == 0)
    assert [each.rows for each in messages] == [2, 2]


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_dies_at_any_step_of_the_commit(
    run: Callable[[], Run], bootstrap: str, output: str, point: str
) -> None:
    before = run()
    before.commit(before.write_all(0), 0)
    died = run()
    with pytest.raises(Killed):
        died.commit(died.write_all(1), 1, stop_before=point)
    after = run()
    messages = after.write_all(1)
    is_decided = point in ("commit", "abort strays")
    assert [each.is_skipped for each in messages] == [is_decided] * 2
    after.commit(messages, 1)
    after.commit(after.write_all(2), 2)
    assert values(bootstrap, output) == expected(0, 1, 2)
    assert open_ids(bootstrap, after.query_id) == []


@pytest.mark.parametrize("ended", [0, 1])
def test_a_driver_that_dies_among_the_ends_of_the_transactions(
    run: Callable[[], Run], bootstrap: str, output: str, ended: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = run()
    messages = died.write_all(0)

    def dying(
        client: Client, coordinators: CoordinatorClient, identities: dict[str, ProducerIdAndEpoch], *, commit: bool
    ) -> None:
        some = dict(list(identities.items())[:ended])
        assert end_together(client, coordinators, some, commit=commit) == list(some)
        raise Killed(commit)

    with monkeypatch.context() as patch:
        patch.setattr(transactions, "end_together", dying)
        with pytest.raises(Killed):
            died.commit(messages, 0)
    assert len(values(bootstrap, output)) == 2 * ended
    after = run()
    after.commit(after.write_all(0), 0)
    assert values(bootstrap, output) == expected(0)


def test_the_last_commit_file_was_deleted(run: Callable[[], Run], bootstrap: str, output: str) -> None:
    query = run()
    for batch_id in range(3):
        query.commit(query.write_all(batch_id), batch_id)
    again = run()
    messages = again.write_all(2)
    assert all(each.is_skipped and each.transaction is None for each in messages)
    again.commit(messages, 2)
    again.commit(again.write_all(3), 3)
    assert values(bootstrap, output) == expected(0, 1, 2, 3)


def test_a_task_that_is_killed_after_it_wrote_and_tried_again(
    run: Callable[[], Run], bootstrap: str, output: str
) -> None:
    query = run()
    query.commit(query.write_all(0), 0)
    messages = query.write_all(1)
    messages[1] = query.write(1, 1, [rows(b"1-1-a", b"1-1-b")])
    assert len(open_ids(bootstrap, query.query_id)) == 3
    query.commit(messages, 1)
    assert values(bootstrap, output) == expected(0, 1)
    assert open_ids(bootstrap, query.query_id) == []


def test_a_task_whose_rows_fail_aborts_what_it_wrote(run: Callable[[], Run], bootstrap: str, output: str) -> None:
    def failing() -> Iterator[Any]:
        for number in range(30):
            yield rows(*[b"%d" % number * 1000] * 1000)
        raise ZeroDivisionError("of the user's")

    query = run()
    with pytest.raises(ZeroDivisionError):
        query.write(0, 0, failing())
    assert open_ids(bootstrap, query.query_id) == []
    query.commit([query.write(0, 0, [rows(b"0-0-a", b"0-0-b")])], 0)
    assert values(bootstrap, output) == expected(0, tasks=1)


def test_spark_aborts_after_a_task_failed(run: Callable[[], Run], bootstrap: str, output: str) -> None:
    query = run()
    messages = query.write_all(0)
    query.abort([None, None], 0)
    assert len(open_ids(bootstrap, query.query_id)) == 2, "nobody knows whose they are, without a checkpoint"
    query.abort([messages[0], None], 0)
    assert open_ids(bootstrap, query.query_id) == []
    again = run()
    again.commit(again.write_all(0), 0)
    assert open_ids(bootstrap, query.query_id) == []
    assert values(bootstrap, output) == expected(0)


def test_spark_aborts_a_commit_that_failed_after_the_decision(
    run: Callable[[], Run], bootstrap: str, output: str
) -> None:
    query = run()
    messages = query.write_all(0)
    with pytest.raises(Killed):
        query.commit(messages, 0, stop_before="commit")
    query.abort(list(messages), 0)
    assert len(open_ids(bootstrap, query.query_id)) == 2, "decided is decided"
    again = run()
    again.commit(again.write_all(0), 0)
    assert values(bootstrap, output) == expected(0)


@pytest.mark.parametrize("point", [point for point in POINTS if point not in ("commit", "abort strays")])
def test_a_driver_believed_dead_goes_on_in_the_middle_of_its_commit(
    run: Callable[[], Run], bootstrap: str, output: str, point: str
) -> None:
    zombie, other = run(), run()
    messages = zombie.write_all(0)

    class Paused(StoppableCommit):
        def drive(self, steps: Any) -> None:
            for step in steps:
                if step.what == point:
                    other.commit(other.write_all(0), 0)

    late = Paused(zombie.writer()._options, 0, messages)
    if point == "fence":
        late.commit()  # it finds the batch in the ledger
    else:
        with pytest.raises(SinkError, match=r"taken over|nothing of it is visible"):
            late.commit()
        zombie.writer().abort(list(messages), 0)
    assert values(bootstrap, output) == expected(0)
    assert open_ids(bootstrap, zombie.query_id) == []
    if point == "fence":  # it has replayed the batch, so that it is the other that is replaced
        with pytest.raises(SinkError, match="another driver of this query has taken over"):
            other.commit(other.write_all(1), 1)
        other = run()
    other.commit(other.write_all(1), 1)
    assert values(bootstrap, output) == expected(0, 1)


def test_a_driver_believed_dead_has_decided_and_commits_late(
    run: Callable[[], Run], bootstrap: str, output: str
) -> None:
    zombie, other = run(), run()
    messages = zombie.write_all(0)
    twice = other.write_all(0)

    class Paused(StoppableCommit):
        def drive(self, steps: Any) -> None:
            for step in steps:
                if step.what == "commit":
                    ran = other.commit(twice, 0)
                    assert ran == [*POINTS[:3], "list strays", "commit", "record", "abort strays"]
                    other.commit(other.write_all(1), 1)

    Paused(zombie.writer()._options, 0, messages).commit()
    assert values(bootstrap, output) == expected(0, 1)
    assert open_ids(bootstrap, zombie.query_id) == []


def test_a_batch_without_rows_and_one_without_tasks(run: Callable[[], Run], bootstrap: str, output: str) -> None:
    query = run()
    query.commit([query.write(0, 0, [])], 0)
    query.writer().commit([], 1)
    query.commit([query.write(2, 0, []), query.write(2, 1, [rows(b"2-1-a", b"2-1-b")])], 2)
    assert values(bootstrap, output) == [b"2-1-a", b"2-1-b"]


def test_the_ledger_is_gone(run: Callable[[], Run], bootstrap: str, output: str, kafka_topic_prefix: str) -> None:
    query = run()
    query.commit(query.write_all(0), 0)
    messages = run().write_all(0)
    with Client(bootstrap) as client:
        Admin(client).delete_topic(f"{kafka_topic_prefix}ledger")
    with pytest.raises(SinkError, match="the ledger does not know it any more"):
        query.commit(messages, 0)
    assert values(bootstrap, output) == expected(0)
